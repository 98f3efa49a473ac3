"""Papermill's engine that runs a notebook's cells in this process: to start a kernel takes longer than to draw most figures."""

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from nbformat import NotebookNode, v4
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines
from traitlets.config import Config

NAME = "in-process"


class InProcess(Engine):
    """Runs cell by cell, up to the first that fails."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: object) -> None:
        """Run the cells that hold code, and put what they show into them."""
        InteractiveShell.clear_instance()
        # What was typed is nobody's history.
        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        # It is an output of its cell.
        shell.showtraceback = lambda *told, **how: None
        for number, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type == "code":
                nb_man.cell_start(cell, number)
                # The shell takes the place of what is captured when it begins to run a cell, unless it runs one already.
                with shell.display_trap, capture_output() as captured:
                    done = shell.run_cell(cell.source, store_history=True)
                cell.execution_count = done.execution_count
                cell.outputs = [*shown(captured), *failure(shell, done)]
                if not done.success:
                    nb_man.cell_exception(cell, number)
                    break
                nb_man.cell_complete(cell, number)


def shown(captured: CapturedIO) -> list[NotebookNode]:
    """What a cell has printed and displayed, as a notebook's outputs."""
    streams = {"stdout": captured.stdout, "stderr": captured.stderr}
    printed = [v4.new_output("stream", name=name, text=text) for name, text in streams.items() if text]
    return printed + [v4.new_output("display_data", one.data, metadata=one.metadata or {}) for one in captured.outputs]


def failure(shell: InteractiveShell, done: ExecutionResult) -> list[NotebookNode]:
    """What a cell has failed with, as a notebook's output; none if it has not."""
    error = done.error_before_exec or done.error_in_exec
    if error is None:
        return []
    raised = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    return [v4.new_output("error", ename=type(error).__name__, evalue=str(error), traceback=raised)]


papermill_engines.register(NAME, InProcess)
