import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * A node of a cluster that is on this host alone: everything listens on the loopback address, at ports that the system gives.
 *
 * Arguments: backups of each row, megabytes of memory for rows at most, a folder for Ignite's files, within one for those of all nodes, and, of every node but the first, the
 * address at which the first is found. Once it takes requests it says so on standard output, in one line: "ready", the address at which the
 * other nodes find it, and the address of its clients. It stops when its standard input ends, as that does when whoever started it ends, and then, or by a signal, removes
 * its folder, and the last node the one around it.
 */
public final class Node {
    private static final String LOOPBACK = "127.0.0.1";

    /** Parts into which a table's keys are hashed, to be shared out to nodes: enough for a few, and each costs time when a table is made. */
    private static final int PARTS = 64;

    /** How often a folder is cleared in which somebody still writes. */
    private static final int ATTEMPTS = 20;

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[2]);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(folder)));
        // From here on, while the node starts, too; a daemon, so that a node that does not start ends.
        Thread input = new Thread(Node::exitAfterInput);
        input.setDaemon(true);
        input.start();

        int backups = Integer.parseInt(arguments[0]);
        long bytes = Long.parseLong(arguments[1]) << 20;
        int discovery = freePort();
        int clients = freePort();
        String own = LOOPBACK + ":" + discovery;
        String first = arguments.length > 3 ? arguments[3] : own;

        IgniteConfiguration node = new IgniteConfiguration()
            .setLocalHost(LOOPBACK)
            .setWorkDirectory(arguments[2])
            .setMetricsLogFrequency(0)
            // Neither REST nor JDBC: binary clients alone.
            .setConnectorConfiguration(null)
            .setDiscoverySpi(new TcpDiscoverySpi()
                .setLocalPort(discovery)
                .setLocalPortRange(0)
                .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(List.of(first))))
            .setCommunicationSpi(new TcpCommunicationSpi().setLocalPort(freePort()))
            .setClientConnectorConfiguration(new ClientConnectorConfiguration()
                .setHost(LOOPBACK)
                .setPort(clients)
                .setPortRange(0)
                .setJdbcEnabled(false)
                .setOdbcEnabled(false))
            .setDataStorageConfiguration(new DataStorageConfiguration()
                .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                    .setInitialSize(64L << 20)
                    .setMaxSize(bytes)))
            // What a client makes by name takes the settings of the template with the longest matching name.
            .setCacheConfiguration(new CacheConfiguration<>("table-*")
                .setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL)
                .setCacheMode(CacheMode.PARTITIONED)
                .setBackups(backups)
                .setAffinity(new RendezvousAffinityFunction(false, PARTS))
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC));
        Ignition.start(node);
        System.out.println("ready " + own + " " + LOOPBACK + ":" + clients);

        input.join();
    }

    private static void exitAfterInput() {
        try {
            while (System.in.read() >= 0) {
                // Nothing is to be said to it.
            }
        } catch (IOException error) {
            // That is an end, too.
        }
        System.exit(0);
    }

    /** Other threads of this node may write meanwhile; other nodes have folders beside this one. */
    private static void remove(Path folder) {
        for (int attempt = 0; attempt < ATTEMPTS && Files.exists(folder); attempt++) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(file);
                }
            } catch (Exception error) {
                // Something has come, or has gone: again.
            }
        }
        try {
            Files.deleteIfExists(folder.getParent());
        } catch (IOException error) {
            // Another node's is left in it, who will try, too.
        }
    }

    /** Another process may take it before it is used: then the node does not start, and says why. */
    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(LOOPBACK))) {
            return socket.getLocalPort();
        }
    }
}
