"""What other readers find in a file: `referees.py READER FILE` prints one line.

Exit code 77 says that the reader is not installed.
"""
import sys

reader, path = sys.argv[1:]


def need(*names):
    try:
        return [__import__(name, fromlist=["_"]) for name in names]
    except ImportError as error:
        print(f"no {reader} ({error})")
        sys.exit(77)


def nanos(value):
    """A time as nanoseconds since 1970, whatever the reader makes of it."""
    return int(value.value) if hasattr(value, "value") else int(value)


def pyarrow():
    [pq, pc] = need("pyarrow.parquet", "pyarrow.compute")
    table = pq.read_table(path)
    assert str(table.schema.field("exch_ts").type) == "timestamp[ns, tz=UTC]", table.schema
    assert str(table.schema.field("order_id").type) == "uint64", table.schema
    told = table.schema.metadata
    assert (told[b"taut.px_exponent"], told[b"taut.qty_exponent"]) == (b"-9", b"-3"), told
    total = lambda name: pc.sum(table[name]).as_py()
    both = pc.sum(pc.equal(table["flags"], 3)).as_py()
    time = lambda name, what: what(table[name].cast("int64")).as_py()
    print(table.num_rows, total("px"), total("qty"), total("kind"), both,
          time("exch_ts", pc.min), time("local_ts", pc.max))


def polars():
    [pl] = need("polars")
    table = pl.read_parquet(path)
    assert table.schema["exch_ts"] == pl.Datetime("ns", "UTC"), table.schema
    column = lambda name: table[name].cast(pl.Int64)
    print(table.height, column("px").sum(), column("qty").sum(), column("kind").sum(),
          (table["flags"] == 3).sum(), column("exch_ts").min(), column("local_ts").max())


def duckdb():
    [db] = need("duckdb")
    row = db.sql(f"""select count(*), sum(px), sum(qty), sum(kind), count(*) filter (flags = 3),
        epoch_ns(min(exch_ts)), epoch_ns(max(local_ts)) from '{path}'""").fetchall()[0]
    print(*(int(value) for value in row))


def databento():
    [db] = need("databento")
    store = db.DBNStore.from_file(path)
    records = store.to_ndarray()
    trades = records[records["action"] == b"T"]
    frame = store.to_df()
    assert list(frame["symbol"].unique()) == ["BTCUSDT"], frame["symbol"].unique()
    # The last record of each packet says so.
    last = records["flags"] >> 7
    assert last[-1] == 1 and ((last[:-1] == 1) == (
        (records["ts_event"][1:] != records["ts_event"][:-1])
        | (records["ts_recv"][1:] != records["ts_recv"][:-1]))).all()
    assert (records["ts_recv"][1:] >= records["ts_recv"][:-1]).all()
    print(len(records), len(trades), trades["size"].sum(), records["ts_recv"][-1],
          store.symbols[0])


def numpy():
    [np] = need("numpy")
    rows = np.load(path)["data"]
    print(len(rows), int(np.round(rows["px"] * 100).sum()),
          sum(int(event) for event in rows["ev"]))


def hftbacktest():
    [hbt, validation] = need("hftbacktest", "hftbacktest.data.validation")
    import numpy as np
    rows = np.load(path)["data"]
    validation.validate_event_order(rows)
    asset = (hbt.BacktestAsset().data([path]).linear_asset(1.0).constant_order_latency(1000, 1000)
             .risk_adverse_queue_model().no_partial_fill_exchange()
             .trading_value_fee_model(0.0, 0.0).tick_size(0.01).lot_size(0.001))
    run = hbt.HashMapMarketDepthBacktest([asset])
    while run.elapse(100_000_000) == 0:
        pass
    depth = run.depth(0)
    print("valid", f"{depth.best_bid:.2f}", f"{depth.best_ask:.2f}")
    run.close()


{name: globals()[name] for name in
 ("pyarrow", "polars", "duckdb", "databento", "numpy", "hftbacktest")}[reader]()
