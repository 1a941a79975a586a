"""Found by every Python started with this folder on PYTHONPATH: arms the process it was meant for."""

import os

if "BATCH_PIPELINE_FAULT" in os.environ:
    from batch_pipeline_tests.faults.points import arm

    arm(os.environ["BATCH_PIPELINE_FAULT"])
