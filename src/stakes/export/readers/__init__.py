"""Reference readers of decision layers: plain files, made to be copied."""
