import java.io.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.locks.*;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.data.Stat;

/** Curator's locks, as a client of the benchmark: see package client for the protocol and the workloads. */
public class CuratorClient {
    static final int WARMING = 0, MEASURING = 1, MEASURED = 2, STOPPING = 3;
    static volatile int phase = WARMING;

    static final Map<String, String> flags = new HashMap<>();
    static final Map<String, Double> result = new TreeMap<>();
    static final BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    static String root;
    static int n;

    /** Seconds of a duration as Go writes it. */
    static double seconds(String flag) {
        double sum = 0;
        var m = java.util.regex.Pattern.compile("([0-9.]+)(h|ms|m|s)").matcher(flags.get(flag));
        Map<String, Double> units = Map.of("h", 3600.0, "m", 60.0, "s", 1.0, "ms", 1e-3);
        while (m.find()) sum += Double.parseDouble(m.group(1)) * units.get(m.group(2));
        return sum;
    }

    static void sleep(double seconds) throws InterruptedException { Thread.sleep((long) (seconds * 1000)); }

    static void mark(String name) throws IOException {
        System.out.println("mark " + name);
        in.readLine();
    }

    /** A mark with the garbage collected. */
    static void measured(String name) throws Exception {
        System.gc();
        sleep(.1);
        mark(name);
    }

    /** Durations in nanoseconds. */
    static final class Samples {
        long[] a = new long[1024];
        int n;
        void add(long v) {
            if (n == a.length) a = Arrays.copyOf(a, n * 2);
            a[n++] = v;
        }
        static Samples all(Samples... parts) {
            Samples all = new Samples();
            for (Samples p : parts) for (int i = 0; i < p.n; i++) all.add(p.a[i]);
            return all;
        }
        void quantiles(String name) {
            if (n == 0) return;
            long[] v = Arrays.copyOf(a, n);
            Arrays.sort(v);
            result.put(name + "_p50", v[(int) Math.ceil(.5 * n) - 1] / 1e3);
            result.put(name + "_p99", v[(int) Math.ceil(.99 * n) - 1] / 1e3);
        }
    }

    static Samples[] samples(int k) {
        Samples[] all = new Samples[k];
        for (int i = 0; i < k; i++) all[i] = new Samples();
        return all;
    }

    static CuratorFramework[] sessions(int k) throws Exception {
        CuratorFramework[] all = new CuratorFramework[k];
        ExecutorService opening = Executors.newFixedThreadPool(16);
        List<Future<?>> opened = new ArrayList<>();
        for (int i = 0; i < k; i++) {
            int j = i;
            opened.add(opening.submit(() -> {
                int timeout = (int) (seconds("timeout") * 1000);
                all[j] = CuratorFrameworkFactory.newClient(flags.get("addr"), timeout, 30000, new RetryOneTime(100));
                all[j].start();
                if (!all[j].blockUntilConnected(60, TimeUnit.SECONDS)) throw new IOException("no session");
                return null;
            }));
        }
        for (Future<?> f : opened) f.get();
        opening.shutdown();
        return all;
    }

    static void close(CuratorFramework... all) throws Exception {
        ExecutorService closing = Executors.newFixedThreadPool(16);
        for (CuratorFramework c : all) closing.submit(c::close);
        closing.shutdown();
        closing.awaitTermination(60, TimeUnit.SECONDS);
    }

    interface Body { void run(int i) throws Exception; }

    static Thread[] start(int k, Body body) {
        Thread[] all = new Thread[k];
        for (int i = 0; i < k; i++) {
            int j = i;
            all[i] = new Thread(() -> {
                try {
                    body.run(j);
                } catch (Throwable e) {
                    fail(e);
                }
            });
            all[i].start();
        }
        return all;
    }

    static void fail(Throwable e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(1);
    }

    /** Brackets the load that is under way, and ends it. */
    static void steady(Thread[] load) throws Exception {
        sleep(seconds("warm"));
        mark("begin");
        long begun = System.nanoTime();
        phase = MEASURING;
        sleep(seconds("secs"));
        phase = MEASURED;
        result.put("secs", (System.nanoTime() - begun) / 1e9);
        mark("end");
        phase = STOPPING;
        result.put("steady", 1.0);
        for (Thread t : load) t.join();
    }

    static void cycle() throws Exception {
        CuratorFramework[] all = sessions(n);
        Samples[] acquired = samples(n), cycles = samples(n);
        steady(start(n, i -> {
            InterProcessMutex l = new InterProcessMutex(all[i], root + "/lock" + i);
            for (int began; (began = phase) != STOPPING; ) {
                long t0 = System.nanoTime();
                l.acquire();
                long t1 = System.nanoTime();
                l.release();
                long t2 = System.nanoTime();
                if (began == MEASURING && phase == MEASURING) {
                    acquired[i].add(t1 - t0);
                    cycles[i].add(t2 - t0);
                }
            }
        }));
        Samples.all(acquired).quantiles("acquire");
        Samples.all(cycles).quantiles("cycle");
        result.put("ops", (double) Samples.all(cycles).n);
        close(all);
    }

    static void handover() throws Exception {
        String path = root + "/lock";
        CuratorFramework gate = sessions(1)[0];
        InterProcessMutex gateLock = new InterProcessMutex(gate, path);
        gateLock.acquire();
        measured("base");
        CuratorFramework[] all = sessions(n);
        measured("sessions");
        AtomicLong released = new AtomicLong();
        Samples hands = new Samples();
        Thread[] load = start(n, i -> {
            InterProcessMutex l = new InterProcessMutex(all[i], path);
            while (phase != STOPPING) {
                l.acquire();
                long hand = System.nanoTime() - released.get();
                if (phase == MEASURING) synchronized (hands) { hands.add(hand); }
                released.set(System.nanoTime());
                l.release();
            }
        });
        for (long deadline = System.nanoTime() + 180_000_000_000L; ; Thread.sleep(5)) {
            Stat st = gate.checkExists().forPath(path);
            if (st.getNumChildren() > n) break;
            if (System.nanoTime() > deadline) throw new IOException("the queue does not fill: " + st);
        }
        mark("rest");
        measured("waiting");
        released.set(System.nanoTime());
        gateLock.release();
        steady(load);
        hands.quantiles("hand");
        result.put("ops", (double) hands.n);
        close(all);
        close(gate);
    }

    static void shared() throws Exception {
        CuratorFramework[] all = sessions(n + 1);
        Samples[] took = samples(n + 1);
        steady(start(n + 1, i -> {
            InterProcessReadWriteLock both = new InterProcessReadWriteLock(all[i], root + "/lock");
            InterProcessMutex l = i == n ? both.writeLock() : both.readLock();
            for (int began; (began = phase) != STOPPING; ) {
                long t = System.nanoTime();
                l.acquire();
                long got = System.nanoTime() - t;
                l.release();
                if (began == MEASURING && phase == MEASURING) took[i].add(got);
                if (i == n) sleep(seconds("pause"));
            }
        }));
        Samples reads = Samples.all(Arrays.copyOf(took, n));
        reads.quantiles("read");
        took[n].quantiles("write");
        result.put("writes", took[n].n / result.get("secs"));
        result.put("ops", (double) reads.n + took[n].n);
        close(all);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i + 1 < args.length; i += 2) flags.put(args[i].substring(1), args[i + 1]);
        root = flags.get("root");
        n = Integer.parseInt(flags.get("n"));
        switch (flags.get("w")) {
            case "cycle": cycle(); break;
            case "handover": handover(); break;
            case "shared": shared(); break;
            default: throw new IllegalArgumentException(flags.get("w"));
        }
        StringJoiner line = new StringJoiner(",", "{", "}");
        result.forEach((k, v) -> line.add('"' + k + "\":" + v));
        System.out.println(line);
        System.exit(0);
    }
}
