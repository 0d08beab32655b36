"""Bringing a consumer's restored state in line with its stream, which may have lost or dropped messages."""

from .delivery_state import DeliveryState


def repair(ledger: DeliveryState, first_seq: int, last_seq: int) -> list[str]:
    """Let nothing be delivered or pending that is not in the stream, `first_seq` to `last_seq`.

    Gives a line for each thing that had to be changed, for the log.
    """
    said: list[str] = []
    pending = {**ledger.pending, **ledger.aside}
    if ledger.stream_seq > last_seq:
        said.append(f"delivered sequence {ledger.stream_seq} is past the stream's last {last_seq}")
        for seq in [seq for seq in pending if seq > last_seq]:
            ledger.forget(seq)
            del pending[seq]
        for seq in [seq for seq in ledger.redelivered if seq > last_seq]:
            ledger.recount(seq, 0)
        ledger.stream_seq = last_seq
        ledger.consumer_seq = max((entry[0] for entry in pending.values()), default=ledger.consumer_seq)
    if ledger.floor_stream > ledger.stream_seq:
        said.append(f"ack floor {ledger.floor_stream} is past the delivered sequence {ledger.stream_seq}")
        ledger.floor_stream = ledger.stream_seq
        ledger.floor_consumer = min(ledger.floor_consumer, ledger.consumer_seq)
    below = [seq for seq in pending if seq < first_seq or seq <= ledger.floor_stream]
    if below:
        said.append(f"{len(below)} pending messages are below the ack floor or gone from the stream")
        for seq in below:
            ledger.forget(seq)
            ledger.recount(seq, 0)
    above = [seq for seq in pending if seq > ledger.stream_seq]
    if above:
        said.append(f"{len(above)} pending messages are past the delivered sequence {ledger.stream_seq}")
        for seq in above:
            ledger.forget(seq)
    for seq in [seq for seq in ledger.redelivered if seq < first_seq]:
        ledger.recount(seq, 0)
    ledger.settle()
    return said
