"""Papermill engine that runs a notebook's cells in this process. Starting a kernel takes longer than drawing most figures."""

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from nbformat import NotebookNode, v4
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines
from traitlets.config import Config

NAME = "in-process"


class InProcess(Engine):
    """Papermill engine that runs a notebook cell by cell, up to the first cell that fails."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: object) -> None:
        """Run the cells that hold code, and store their outputs in them."""
        InteractiveShell.clear_instance()
        # A notebook's code does not belong in the user's history of IPython.
        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        # The traceback becomes an output of its cell instead.
        shell.showtraceback = lambda *told, **how: None
        for number, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type == "code":
                nb_man.cell_start(cell, number)
                # Unless its trap is already set, the shell would replace the hook that captures what a cell displays.
                with shell.display_trap, capture_output() as captured:
                    done = shell.run_cell(cell.source, store_history=True)
                cell.execution_count = done.execution_count
                cell.outputs = [*shown(captured), *failure(shell, done)]
                if not done.success:
                    nb_man.cell_exception(cell, number)
                    break
                nb_man.cell_complete(cell, number)


def shown(captured: CapturedIO) -> list[NotebookNode]:
    """Return what a cell has printed and displayed, as outputs of a notebook."""
    streams = {"stdout": captured.stdout, "stderr": captured.stderr}
    printed = [v4.new_output("stream", name=name, text=text) for name, text in streams.items() if text]
    return printed + [v4.new_output("display_data", one.data, metadata=one.metadata or {}) for one in captured.outputs]


def failure(shell: InteractiveShell, done: ExecutionResult) -> list[NotebookNode]:
    """Return the error that a cell has failed with, as outputs of a notebook; empty if it has not failed."""
    error = done.error_before_exec or done.error_in_exec
    if error is None:
        return []
    raised = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    return [v4.new_output("error", ename=type(error).__name__, evalue=str(error), traceback=raised)]


papermill_engines.register(NAME, InProcess)
