"""Dagster: the orders as an asset with a partition for each day. A retry goes on where the run was.

`dagster dev -f dagster_defs.py` shows it; a partition that is materialized again reads nothing twice.
"""

import subprocess
from pathlib import Path

from dagster import (
    AssetExecutionContext,
    DailyPartitionsDefinition,
    Definitions,
    RetryPolicy,
    asset,
    build_schedule_from_partitioned_job,
    define_asset_job,
)

PIPELINE = Path(__file__).with_name("orders.yaml")
DAYS = DailyPartitionsDefinition(start_date="2026-11-01")


@asset(partitions_def=DAYS, retry_policy=RetryPolicy(max_retries=3, delay=300), pool="orders")
def orders(context: AssetExecutionContext) -> None:
    """Orders as Parquet, a folder for each day."""
    day = context.partition_time_window
    span = ["--from", f"{day.start:%Y-%m-%d}", "--to", f"{day.end:%Y-%m-%d}"]
    subprocess.run(["pyjs", "pipeline", "run", str(PIPELINE), *span], check=True)


daily = define_asset_job("daily", selection=[orders])
defs = Definitions(
    assets=[orders],
    schedules=[build_schedule_from_partitioned_job(daily, hour_of_day=0, minute_of_hour=15)],
)
