# SPDX-License-Identifier: GPL-2.0
"""Programs of scripts/ as modules, for the tests of what they compute."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

sys.dont_write_bytecode = True
# The modules of scripts/vm.
sys.path.insert(0, str(SCRIPTS / "lib"))


def load(name, module_name=None):
    """The program scripts/NAME as a module, which may need a name of its own. Its main() is not
    called."""
    loader = importlib.machinery.SourceFileLoader(module_name or name.replace("-", "_"),
                                                  str(SCRIPTS / name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    try:
        loader.exec_module(module)
    except SystemExit as err:   # with status 0, the tests would pass without a test
        raise ImportError(f"{name} has ended when it was loaded: {err}") from None
    return module


def run(name, *args):
    """Run the program scripts/NAME, as scripts/static-checks does. Returns its status and the
    lines that it prints."""
    done = subprocess.run([SCRIPTS / name, *args], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.returncode, done.stdout.splitlines()
