"""`python -m batch_pipeline_tests.flows.command ...` is the installed `batch-pipeline` command."""

from batch_pipeline.cli import main

if __name__ == "__main__":
    main()
