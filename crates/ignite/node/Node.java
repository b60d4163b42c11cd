import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;

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
 * Arguments: backups of each row, megabytes of memory for rows at most, a folder for Ignite's files, and, of every node but the first, the
 * address at which the first is found. Once it takes requests it says so on standard output, in one line: "ready", the address at which the
 * other nodes find it, and the address of its clients. It stops when its standard input ends, as that does when whoever started it ends.
 */
public final class Node {
    private static final String LOOPBACK = "127.0.0.1";

    /** Parts into which a table's keys are hashed, to be shared out to nodes: enough for a few, and each costs time when a table is made. */
    private static final int PARTS = 64;

    public static void main(String[] arguments) throws IOException {
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

        while (System.in.read() >= 0) {
            // Nothing is to be said to it.
        }
        Runtime.getRuntime().halt(0);
    }

    /** Another process may take it before it is used: then the node does not start, and says why. */
    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(LOOPBACK))) {
            return socket.getLocalPort();
        }
    }
}
