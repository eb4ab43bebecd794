import exchange.core2.collections.objpool.ObjectsPool;
import exchange.core2.core.common.CoreSymbolSpecification;
import exchange.core2.core.common.MatcherEventType;
import exchange.core2.core.common.MatcherTradeEvent;
import exchange.core2.core.common.OrderAction;
import exchange.core2.core.common.OrderType;
import exchange.core2.core.common.SymbolType;
import exchange.core2.core.common.cmd.CommandResultCode;
import exchange.core2.core.common.cmd.OrderCommand;
import exchange.core2.core.common.cmd.OrderCommandType;
import exchange.core2.core.common.config.LoggingConfiguration;
import exchange.core2.core.orderbook.IOrderBook;
import exchange.core2.core.orderbook.OrderBookDirectImpl;
import exchange.core2.core.orderbook.OrderBookEventsHelper;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Replays an order flow of bookgen through exchange-core's OrderBookDirectImpl, called directly:
 * no disruptor, no risk engine, no journal. Prints one JSON object.
 */
public final class ExchangeCorePeer {
    private static final int WARM_UP_PASSES = 10;
    private static final long ENOUGH_NS = 1_000_000_000L;

    private final byte[] kinds;
    private final byte[] sides;
    private final long[] sizes;
    private final long[] ids;
    private final long[] prices;
    private final int prefill;

    private IOrderBook book;
    private final OrderCommand command = new OrderCommand();
    private MatcherTradeEvent freeEvents;

    private long tally;
    private long tallyCount;

    private ExchangeCorePeer(ByteBuffer file) {
        if (file.getInt(0) != 0x31584d42) {
            throw new IllegalArgumentException("not a file of bookgen");
        }
        prefill = file.getInt(4);
        int count = prefill + file.getInt(8);
        kinds = new byte[count];
        sides = new byte[count];
        sizes = new long[count];
        ids = new long[count];
        prices = new long[count];
        for (int i = 0; i < count; i++) {
            int at = 12 + 24 * i;
            kinds[i] = file.get(at);
            sides[i] = file.get(at + 1);
            sizes[i] = file.getInt(at + 4);
            ids[i] = file.getLong(at + 8);
            prices[i] = file.getLong(at + 16);
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of(arguments[0]));
        new ExchangeCorePeer(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)).measure();
    }

    private void measure() {
        long[] left = correctness();
        book = newBook();
        long elapsed = 0;
        long operations = 0;
        for (int pass = 0; elapsed < ENOUGH_NS; pass++) {
            run(0, prefill);
            long started = System.nanoTime();
            run(prefill, kinds.length);
            long took = System.nanoTime() - started;
            for (long id : left) {
                cancel(id);
                recycle();
            }
            if (pass >= WARM_UP_PASSES) {
                elapsed += took;
                operations += kinds.length - prefill;
            }
        }
        if (tallyCount == Long.MIN_VALUE) {
            System.err.println(tally);
        }
        System.out.printf(
                "{\"engine\":\"exchange-core\",\"trades\":%d,\"trade_hash\":\"%016x\",\"ops_per_s\":%.0f}%n",
                hashedTrades, hash, operations * 1e9 / elapsed);
    }

    private void run(int from, int to) {
        for (int i = from; i < to; i++) {
            if (kinds[i] == 1) {
                cancel(ids[i]);
            } else {
                enter(i);
            }
            consume();
        }
    }

    private void enter(int i) {
        command.command = OrderCommandType.PLACE_ORDER;
        command.orderId = ids[i];
        command.uid = 1;
        command.price = prices[i];
        command.reserveBidPrice = prices[i];
        command.size = sizes[i];
        command.action = sides[i] == 0 ? OrderAction.BID : OrderAction.ASK;
        command.orderType = kinds[i] == 2 ? OrderType.IOC : OrderType.GTC;
        command.resultCode = CommandResultCode.VALID_FOR_MATCHING_ENGINE;
        IOrderBook.processCommand(book, command);
    }

    private void cancel(long id) {
        command.command = OrderCommandType.CANCEL_ORDER;
        command.orderId = id;
        command.uid = 1;
        command.resultCode = CommandResultCode.VALID_FOR_MATCHING_ENGINE;
        IOrderBook.processCommand(book, command);
    }

    /** Looks at every trade, so that nothing is optimised away, and takes the events back. */
    private void consume() {
        for (MatcherTradeEvent e = command.matcherEvent; e != null; e = e.nextEvent) {
            if (e.eventType == MatcherEventType.TRADE) {
                tallyCount++;
                tally = Long.rotateLeft(tally, 5) ^ e.matchedOrderId ^ command.orderId ^ e.price ^ e.size;
            }
        }
        recycle();
    }

    /** As the pipeline's results handler does: the chain goes back to a pool. */
    private void recycle() {
        MatcherTradeEvent chain = command.matcherEvent;
        if (chain == null) {
            return;
        }
        MatcherTradeEvent tail = chain;
        while (tail.nextEvent != null) {
            tail = tail.nextEvent;
        }
        tail.nextEvent = freeEvents;
        freeEvents = chain;
        command.matcherEvent = null;
    }

    private MatcherTradeEvent newEvent() {
        MatcherTradeEvent event = freeEvents;
        if (event == null) {
            return new MatcherTradeEvent();
        }
        freeEvents = event.nextEvent;
        event.nextEvent = null;
        return event;
    }

    private IOrderBook newBook() {
        CoreSymbolSpecification symbol = CoreSymbolSpecification.builder()
                .symbolId(1)
                .type(SymbolType.FUTURES_CONTRACT)
                .baseCurrency(1)
                .quoteCurrency(2)
                .baseScaleK(1)
                .quoteScaleK(1)
                .build();
        Map<Integer, Integer> sizes = new HashMap<>();
        sizes.put(ObjectsPool.DIRECT_ORDER, 1 << 20);
        sizes.put(ObjectsPool.DIRECT_BUCKET, 1 << 16);
        sizes.put(ObjectsPool.ART_NODE_4, 1 << 16);
        sizes.put(ObjectsPool.ART_NODE_16, 1 << 16);
        sizes.put(ObjectsPool.ART_NODE_48, 1 << 15);
        sizes.put(ObjectsPool.ART_NODE_256, 1 << 14);
        return new OrderBookDirectImpl(symbol, new ObjectsPool(sizes),
                new OrderBookEventsHelper(this::newEvent), LoggingConfiguration.DEFAULT);
    }

    // The correctness pass: a fresh book, FNV-1a over maker, taker, price and quantity.

    private long hash = 0xcbf29ce484222325L;
    private long hashedTrades;

    private void hash(long word) {
        for (int i = 0; i < 8; i++) {
            hash = (hash ^ (word >>> (8 * i) & 0xff)) * 0x100000001b3L;
        }
    }

    /** Returns the orders that rest at the end. */
    private long[] correctness() {
        book = newBook();
        Map<Long, Long> live = new HashMap<>();
        for (int i = 0; i < kinds.length; i++) {
            if (kinds[i] == 1) {
                cancel(ids[i]);
                live.remove(ids[i]);
                recycle();
                continue;
            }
            enter(i);
            long remaining = sizes[i];
            for (MatcherTradeEvent e = command.matcherEvent; e != null; e = e.nextEvent) {
                if (e.eventType != MatcherEventType.TRADE) {
                    continue;
                }
                hashedTrades++;
                hash(e.matchedOrderId);
                hash(ids[i]);
                hash(e.price);
                hash(e.size);
                remaining -= e.size;
                long size = e.size;
                live.computeIfPresent(e.matchedOrderId, (id, rest) -> rest == size ? null : rest - size);
            }
            if (remaining > 0 && kinds[i] == 0) {
                live.put(ids[i], remaining);
            }
            recycle();
        }
        List<Long> left = new ArrayList<>(live.keySet());
        left.sort(null);
        return left.stream().mapToLong(Long::longValue).toArray();
    }
}
