"""DataFrames of pandas, polars and pyarrow as one thing: a pandas DataFrame in one form.

Whatever the library, numbers are NumPy's with NaN for what is missing, booleans with gaps are
pandas' "boolean", categories and text are pandas' own, dates are datetime64. A pandas DataFrame
that is so already is handed on as it is, without a copy.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

# What pandas finds in columns of Python objects, and what they are then.
NUMPY_KINDS = {"b": "boolean", **dict.fromkeys("iufc", "number"), **dict.fromkeys("mM", "time")}
_OBJECTS = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    "boolean": "boolean",
    **dict.fromkeys(("date", "datetime", "datetime64"), "time"),
    **dict.fromkeys(("timedelta", "timedelta64"), "span"),
}


def is_frame(X: Any) -> bool:
    """Say whether X is a DataFrame, of whatever library."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):  # at once: it is asked for each column
        return False
    return nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_into_dataframe(X)


def is_sparse(X: Any) -> bool:
    """Say whether X is a sparse matrix or array of SciPy."""
    return sparse.issparse(X)


def is_pandas(data: Any) -> bool:
    """Say whether something is a DataFrame or a column of pandas."""
    return nw.dependencies.is_pandas_dataframe(data) or nw.dependencies.is_pandas_series(data)


def join_rows(parts: list) -> Any:
    """Return the rows of several arrays, or of several tables or columns of pandas, as one."""
    if not is_pandas(parts[0]):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def as_frame(X: Any) -> Any:
    """Return any DataFrame as a pandas DataFrame in one form; anything else as it is.

    Parameters
    ----------
    X : object
        A table of pandas, polars, pyarrow or another library that narwhals knows. A lazy one
        is refused: what it holds is not known yet. The index that pandas has stored in a
        pyarrow table is no column.

    Examples
    --------
    >>> import pyarrow
    >>> from stakes.utils._frames import as_frame
    >>> table = pyarrow.table({"age": [30, None, 41], "job": ["cook", "smith", None]})
    >>> frame = as_frame(table)
    >>> frame["age"].tolist(), frame["job"].isna().tolist()
    ([30.0, nan, 41.0], [False, False, True])
    """
    if nw.dependencies.is_pandas_dataframe(X):
        return _settled(X)
    if isinstance(X, np.ndarray | list | tuple):
        return X
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    frame: Any = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"The {type(X).__name__} is a lazy table, whose rows are not known yet: collect it "
            "first, as X.collect() does."
        )
    if not isinstance(frame, nw.DataFrame):
        return X
    import pandas as pd

    names = [name for name in frame.columns if name not in _index_names(X)]
    columns = {i: _column(frame[name]) for i, name in enumerate(names)}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame))).set_axis(names, axis=1)


def index_of(X: Any) -> Any:
    """Return the index of a pandas DataFrame; None for anything else."""
    return X.index if nw.dependencies.is_pandas_dataframe(X) else None


def check_index(**beside: Any) -> None:
    """Refuse tables and columns of pandas that stand side by side but name other rows.

    Rows are matched by position: what says of its rows that they stand otherwise is not taken.
    An index that only counts, as pandas makes one where there is none, says nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.utils._frames import check_index
    >>> y = pd.Series([1, 0], index=["anna", "ben"])
    >>> check_index(X=[[3], [4]], y=y, groups=pd.Series([7, 7]))
    >>> check_index(X=[[3], [4]], y=y, groups=y[::-1])
    Traceback (most recent call last):
        ...
    ValueError: The index of groups is that of y in another order: give groups.loc[y.index] ...
    """
    indexed: dict[str, Any] = {}
    for name, values in beside.items():
        is_pandas = nw.dependencies.is_pandas_series(values) or index_of(values) is not None
        if is_pandas:
            indexed[name] = values.index
    for name, other in indexed.items():
        for known, own in indexed.items():
            if name == known:
                break
            if len(own) != len(other) or own.equals(other):
                continue  # lengths are checked elsewhere
            turned = own.is_unique and other.is_unique and other.isin(own).all()
            if not turned and (_only_counts(own) or _only_counts(other)):
                continue
            says = f"is that of {known} in another order" if turned else f"is not that of {known}"
            aligned = f"{name}.loc[{known}.index]" if turned else f"one with the index of {known}"
            raise ValueError(
                f"The index of {name} {says}: give {aligned} if rows belong together by their "
                f"index, or {name}.to_numpy() if they do by position."
            )


def _only_counts(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def as_column(values: Any) -> Any:
    """Return a Series or Array of any library as a NumPy array; anything else as it is.

    Categories and text become objects, as NumPy has them from pandas.

    Examples
    --------
    >>> import pyarrow
    >>> from stakes.utils._frames import as_column
    >>> as_column(pyarrow.array(["a", "b", "a"]).dictionary_encode())
    array(['a', 'b', 'a'], dtype=object)
    """
    if isinstance(values, np.ndarray | list | tuple):
        return values
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    series: Any = nw.from_native(values, allow_series=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return values
    if series.dtype.is_nested():  # the costs of each example as lists
        return np.array(series.to_list())
    import pandas as pd

    if not (
        isinstance(values, pd.Series) and (values.dtype == object or _is_settled(values.dtype))
    ):
        values = pd.Series(_column(series))
    if kind_of(values.dtype) == "boolean" and not values.isna().any():
        values = values.astype(bool)
    return values.to_numpy()


def one_column(y: Any, *, warn: bool = False) -> np.ndarray:
    """Return y as a NumPy array of one axis, or refuse it; see `as_column`.

    Numbers or booleans that came as objects, as from a column that once had gaps, are what they are;
    what pandas calls NA is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.utils._frames import one_column
    >>> one_column(np.array([True, False], dtype=object))
    array([ True, False])
    """
    column = column_or_1d(as_column(y), warn=warn)
    if column.dtype != object:
        return column
    from pandas import NA
    from pandas.api.types import infer_dtype

    absent = [value is NA for value in column.tolist()]
    if any(absent):
        column = column.copy()
        column[absent] = np.nan
    plain = infer_dtype(column, skipna=False) in ("integer", "boolean")
    return np.array(column.tolist()) if plain else column


def few_cells(column: Any) -> list:
    """Return the cells of a short column of pandas as a list, None where one is missing."""
    from pandas import isna

    return [None if isna(value) is True else value for value in column.tolist()]


def kind_of(dtype: Any) -> str:
    """Return what a column of a frame holds: "number", "boolean", "time", "category" or "text".

    A time is a date or a span of time. Text is all that is none of the others.
    """
    if isinstance(dtype, np.dtype):  # at once: pandas' questions take as long as a decision
        return NUMPY_KINDS.get(dtype.kind, "text")
    from pandas import CategoricalDtype, StringDtype
    from pandas.api import types

    if isinstance(dtype, CategoricalDtype):
        return "category"
    if isinstance(dtype, StringDtype):
        return "text"
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_numeric_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return "time"
    return "text"


def numbers_of(column: Any) -> np.ndarray:
    """Return a column of a frame that holds numbers, booleans or times as float64; gaps are NaN.

    Dates are days since 1970, spans of time are seconds.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.utils._frames import numbers_of
    >>> numbers_of(pd.Series(pd.to_datetime(["1970-01-02 12:00", None])))
    array([1.5, nan])
    """
    if kind_of(column.dtype) != "time":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    times = column.to_numpy()
    unit = 86_400e6 if times.dtype.kind == "M" else 1e6
    times = times.astype(f"{times.dtype.kind}8[us]")  # exact, so that no unit rounds otherwise
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / unit)


def _settled(frame: Any) -> Any:
    """Return a pandas DataFrame whose columns are in the one form; itself if they are."""
    settled = frame
    for i, dtype in enumerate(frame.dtypes):
        column = None if _is_settled(dtype) else frame.iloc[:, i]
        if column is None or (one := _settle(column)) is column:
            continue
        settled = frame.copy(deep=False) if settled is frame else settled
        settled.isetitem(i, one)
    return settled


def _is_settled(dtype: Any) -> bool:
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return dtype.kind != "O"
    if isinstance(dtype, pd.StringDtype):
        return True
    return not isinstance(dtype, pd.ArrowDtype) and getattr(dtype, "kind", "O") not in "iuf"


def _settle(column: Any) -> Any:
    """Return a pandas column of objects, or of a type with its own missing value, in the one form."""
    import pandas as pd

    if column.dtype != object:
        return pd.Series(_column(nw.from_native(column, series_only=True)), index=column.index)
    kind = _OBJECTS.get(pd.api.types.infer_dtype(column, skipna=True))
    try:
        if kind == "number":
            return column.astype(np.float64)
        if kind == "boolean":
            return column.astype("boolean")
        if kind == "time":
            return pd.to_datetime(column)
        return pd.to_timedelta(column) if kind == "span" else column
    except (TypeError, ValueError):  # such as dates of several time zones: they stay as they are
        return column


def _column(series: nw.Series) -> Any:
    """Return the values of a column of any library in the one form."""
    import pandas as pd

    dtype = series.dtype
    if dtype.is_numeric():
        has_numpy = dtype.is_float() or dtype.is_integer()
        wide = not has_numpy or dtype in (nw.Int128, nw.UInt128)
        return (series.cast(nw.Float64) if wide else series).to_numpy()
    if dtype == nw.Boolean:
        has_gaps = series.null_count() > 0
        return pd.array(series.to_list(), dtype="boolean") if has_gaps else series.to_numpy()
    if dtype in (nw.Categorical, nw.Enum):
        return pd.Categorical(series.to_list(), categories=series.cat.get_categories().to_list())
    if dtype == nw.String:
        text: Any = pd.Series(["text"]).dtype
        return pd.array(series.to_list(), dtype=text)
    if dtype in (nw.Datetime, nw.Date, nw.Duration):
        return _times(series)
    return _settle(pd.Series(series.to_list(), dtype=object)).array


def _times(series: nw.Series) -> Any:
    import pandas as pd

    times = series.to_numpy()
    if series.dtype == nw.Date:
        times = times.astype("datetime64[s]")
    zone = getattr(series.dtype, "time_zone", None)
    if zone is None:
        return times
    column: Any = pd.Series(times)
    return column.dt.tz_localize("UTC").dt.tz_convert(zone).array


def _index_names(X: Any) -> list[str]:
    """Return the columns of a pyarrow table that were the index of the DataFrame it came from."""
    known = getattr(getattr(X, "schema", None), "pandas_metadata", None) or {}
    return [name for name in known.get("index_columns", ()) if isinstance(name, str)]
