"""Two contracts of import-linter: for modules that say that they are pure, and for inner packages.

A core declares itself: its docstring has the word ``Pure``. So a new one is covered as soon as it
is written, and nobody has a list to edit. Packages that are pure as a whole are named in setup.cfg.
"""

import ast
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application.contract_utils import remove_ignored_imports_and_report
from importlinter.domain.helpers import module_expressions_to_modules

_MARK = re.compile(r"\bPure\b")


class DeclaredCores(Contract):
    """Cores import nothing of what is forbidden, directly or through others.

    Options:
        root: the package whose modules declare themselves.
        packages: packages whose modules are all cores, declared or not.
        forbidden_modules: what no core may reach.
        ignore_imports: exceptions, each one import; one that is gone is an error.
    """

    type_name = "declared_cores"

    root = fields.StringField()
    packages = fields.SetField(subfield=fields.ModuleExpressionField())
    forbidden_modules = fields.ListField(subfield=fields.ModuleExpressionField())
    ignore_imports = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - theirs
        """Look for a chain of imports from each core to what is forbidden.

        Returns:
            Kept or broken, with the shortest chain of each core that reaches something.
        """
        del verbose
        remove_ignored_imports_and_report(
            graph=graph,
            ignore_imports=self.ignore_imports,  # type: ignore[arg-type]
            unmatched_alerting="error",  # type: ignore[arg-type]
        )
        cores = {*(declared_in(str(self.root)) & graph.modules), *self._in_packages(graph)}
        chains = sorted(self._chains(graph, cores).values())
        return ContractCheck(kept=not chains, metadata={"chains": chains, "cores": cores})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each chain on a line."""
        for chain in check.metadata["chains"]:
            output.print_error(" -> ".join(chain))

    def _in_packages(self, graph: ImportGraph) -> set[str]:
        packages = module_expressions_to_modules(graph, self.packages)  # type: ignore[arg-type]
        found = {package.name for package in packages}
        return found.union(*(graph.find_descendants(name) for name in found))

    def _chains(self, graph: ImportGraph, cores: set[str]) -> dict[str, tuple[str, ...]]:
        """Return the shortest chain of each core that reaches something forbidden."""
        shortest: dict[str, tuple[str, ...]] = {}
        for target in sorted(filter(self._is_forbidden, graph.modules)):
            for core in cores & graph.find_downstream_modules(target):
                chain = graph.find_shortest_chain(core, target) or (core, target)
                if core not in shortest or len(chain) < len(shortest[core]):
                    shortest[core] = chain
        return shortest

    def _is_forbidden(self, module: str) -> bool:
        names = map(str, self.forbidden_modules)  # type: ignore[call-overload]
        return any(module == name or module.startswith(f"{name}.") for name in names)


class InnerPackage(Contract):
    """An inner package imports nothing else of the package that it lies in.

    So a module that is new beside it is covered without a line in setup.cfg.

    Options:
        inner: the inner package; what it lies in follows from its name.
        ignore_imports: exceptions, each one import; one that is gone is an error.
    """

    type_name = "inner_package"

    inner = fields.StringField()
    ignore_imports = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - theirs
        """Look for imports from the inner package to what surrounds it.

        Returns:
            Kept or broken, with each such import.
        """
        del verbose
        remove_ignored_imports_and_report(
            graph=graph,
            ignore_imports=self.ignore_imports,  # type: ignore[arg-type]
            unmatched_alerting="error",  # type: ignore[arg-type]
        )
        inner = str(self.inner)
        inside = {inner, *graph.find_descendants(inner)}
        around = graph.find_descendants(inner.rpartition(".")[0]) - inside
        upward = sorted(
            (module, imported)
            for module in inside
            for imported in graph.find_modules_directly_imported_by(module) & around
        )
        return ContractCheck(kept=not upward, metadata={"imports": upward})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import on a line."""
        for module, imported in check.metadata["imports"]:
            output.print_error(f"{module} -> {imported}")


@cache
def declared_in(root: str) -> frozenset[str]:
    """Return the modules of a package whose docstrings declare them pure.

    Args:
        root: the name of a package that can be imported; it is read, not imported.
    """
    spec = importlib.util.find_spec(root)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"{root} is no package")
    return frozenset(_declared_below(Path(spec.submodule_search_locations[0]), root))


def _declared_below(folder: Path, package: str) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        if _MARK.search(text) and _MARK.search(ast.get_docstring(ast.parse(text)) or ""):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield ".".join((package, *parts))
