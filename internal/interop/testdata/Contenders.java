import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.retry.RetryOneTime;

/**
 * Contenders of Curator, each with a session of its own.
 *
 * <pre>Contenders SERVER REFEREE COUNT</pre>
 *
 * Each is told by the referee, over a connection of its own, what to do: WHAT
 * DIRECTORY. It tells the referee when it enters and when it leaves, asks after each
 * turn whether to go on, and says when it is done. The end of the standard input
 * ends the process.
 */
public final class Contenders {
    private final CuratorFramework client;
    private final Socket conn;
    private final BufferedReader lines;

    private Contenders(String server, String referee) throws Exception {
        client = CuratorFrameworkFactory.newClient(server, 40_000, 60_000, new RetryNTimes(10, 100));
        client.start();
        client.blockUntilConnected();
        int colon = referee.lastIndexOf(':');
        conn = new Socket(referee.substring(0, colon), Integer.parseInt(referee.substring(colon + 1)));
        conn.setTcpNoDelay(true);
        lines = new BufferedReader(new InputStreamReader(conn.getInputStream(), StandardCharsets.UTF_8));
    }

    private void say(String words) throws Exception {
        conn.getOutputStream().write((words + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private boolean again() throws Exception {
        return "again".equals(lines.readLine());
    }

    private void run() throws Exception {
        for (String job; (job = lines.readLine()) != null; say("done")) {
            String[] words = job.split(" ");
            String directory = words[1];
            InterProcessMutex mutex = new InterProcessMutex(client, directory);
            InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, directory);
            switch (words[0]) {
                case "mutex" -> turns(mutex, "write");
                case "reader" -> turns(both.readLock(), "read");
                case "writer" -> turns(both.writeLock(), "write");
                case "downgrader" -> downgrade(both);
                case "mutexRevoker" -> revoke(mutex);
                case "writeRevoker" -> revoke(both.writeLock());
                case "selector" -> select(directory);
                case "latch" -> latch(directory);
                case "permit" -> permits(new InterProcessSemaphoreV2(client, directory, 2));
                case "member" -> member(directory);
                case "barrier" -> barrier(directory, Integer.parseInt(words[2]));
                case "close" -> new DistributedBarrier(client, directory).setBarrier();
                case "open" -> new DistributedBarrier(client, directory).removeBarrier();
                case "pass" -> new DistributedBarrier(client, directory).waitOnBarrier();
                case "counts" -> count(directory);
                default -> throw new IllegalArgumentException(job);
            }
        }
        client.close();
    }

    private void turns(InterProcessMutex lock, String mode) throws Exception {
        for (boolean again = true; again; lock.release()) {
            lock.acquire();
            say("enter " + mode);
            client.checkExists().forPath("/"); // work that takes a moment
            say("leave");
            again = again();
        }
    }

    private void permits(InterProcessSemaphoreV2 semaphore) throws Exception {
        for (boolean again = true; again; ) {
            Lease lease = semaphore.acquire();
            say("enter read");
            client.checkExists().forPath("/"); // work that takes a moment
            say("leave");
            again = again();
            semaphore.returnLease(lease);
        }
    }

    // Goes on as a reader when told to, and leaves when told to.
    private void downgrade(InterProcessReadWriteLock both) throws Exception {
        both.writeLock().acquire();
        say("enter write");
        again();
        both.readLock().acquire();
        both.writeLock().release();
        say("reads");
        again();
        both.readLock().release();
    }

    private void revoke(InterProcessMutex lock) throws Exception {
        Revoker.attemptRevoke(client, lock.getParticipantNodes().iterator().next());
    }

    // Leads again and again until told to stop. It leads until it is told one or the other.
    private void select(String directory) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        LeaderSelectorListenerAdapter listener = new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework unused) throws Exception {
                if (over.getCount() > 0) {
                    say("enter write");
                    client.checkExists().forPath("/"); // work that takes a moment
                    say("leave");
                    if (!again()) {
                        over.countDown();
                    }
                }
            }
        };
        try (LeaderSelector selector = new LeaderSelector(client, directory, listener)) {
            selector.setId("their id");
            selector.autoRequeue();
            selector.start();
            over.await();
        }
    }

    // Tells when it leads, and leaves when told to.
    private void latch(String directory) throws Exception {
        try (LeaderLatch latch = new LeaderLatch(client, directory, "their id")) {
            latch.start();
            latch.await();
            say("leads");
            again();
        }
    }

    // Tells of the others once there are any, and leaves when told to.
    private void member(String directory) throws Exception {
        byte[] data = "theirs".getBytes(StandardCharsets.UTF_8);
        try (GroupMember member = new GroupMember(client, directory, "curator", data)) {
            member.start();
            Map<String, byte[]> all;
            while ((all = member.getCurrentMembers()).size() < 2) {
                Thread.sleep(10);
            }
            for (Map.Entry<String, byte[]> m : all.entrySet()) {
                if (!m.getKey().equals("curator")) {
                    say("sees " + m.getKey() + "=" + new String(m.getValue(), StandardCharsets.UTF_8));
                }
            }
            again();
        }
    }

    // Leaves a counter of each kind.
    private void count(String directory) throws Exception {
        try (SharedCount count = new SharedCount(client, directory + "/shared", 0)) {
            count.start();
            count.setCount(7);
        }
        new DistributedAtomicLong(client, directory + "/atomic", new RetryOneTime(1)).add(7L);
    }

    // Enters, tells when n are in, and leaves when told to.
    private void barrier(String directory, int n) throws Exception {
        DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(client, directory, n);
        barrier.enter();
        say("enter");
        again();
        barrier.leave();
        say("leave");
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[Integer.parseInt(args[2])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    new Contenders(args[0], args[1]).run();
                } catch (Throwable e) {
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            });
            threads[i].start();
        }
        Thread parent = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (Exception e) {
                // as good as its end
            }
            Runtime.getRuntime().halt(1);
        });
        parent.setDaemon(true);
        parent.start();
        for (Thread t : threads) {
            t.join();
        }
        Runtime.getRuntime().halt(0);
    }
}
