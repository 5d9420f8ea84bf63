"""Tables as people have them: read right, and what was read is said."""

from stakes.tables._apply import apply_readings, read_classes, readings_of
from stakes.tables._check import (
    ColumnCheck,
    Finding,
    TableCheck,
    check_table,
    findings_said,
    heeded,
)
from stakes.tables._evidence import find_identifiers, looks_like_identifier
from stakes.tables._histograms import column_histograms, compare_counts, count_values
from stakes.tables._kinds import column_kind, is_mostly
from stakes.tables._preparation import PreparedColumn, TablePreparation
from stakes.tables._profile import (
    ColumnProfile,
    find_differences,
    new_values,
    profile_columns,
)
from stakes.tables._read import Table, read_table
from stakes.tables._readings import (
    DATES,
    KINDS,
    MANY_VALUES,
    ColumnReading,
    TableWarning,
    Unreadable,
    truth_words,
)
from stakes.tables._size import TableSize, free_memory, table_size
from stakes.tables._sources import MAX_CELLS
from stakes.tables._write import write_table
from stakes.utils._csv import CsvError as TableError

__all__ = [
    "DATES",
    "KINDS",
    "MANY_VALUES",
    "MAX_CELLS",
    "ColumnCheck",
    "ColumnProfile",
    "ColumnReading",
    "Finding",
    "PreparedColumn",
    "Table",
    "TableCheck",
    "TableError",
    "TablePreparation",
    "TableSize",
    "TableWarning",
    "Unreadable",
    "apply_readings",
    "check_table",
    "column_histograms",
    "column_kind",
    "compare_counts",
    "count_values",
    "find_differences",
    "find_identifiers",
    "findings_said",
    "free_memory",
    "heeded",
    "is_mostly",
    "looks_like_identifier",
    "new_values",
    "profile_columns",
    "read_classes",
    "read_table",
    "readings_of",
    "table_size",
    "truth_words",
    "write_table",
]
