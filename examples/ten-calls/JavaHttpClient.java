import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;

/**
 * Ten calls with java.net.http, Java 17 and newer. Run: java JavaHttpClient.java
 *
 * <p>GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
 */
class JavaHttpClient {
    private static final String GRID =
            System.getenv().getOrDefault("GRIDNODE_URL", "http://127.0.0.1:5701/grid");

    /** Longer than the longest poll. */
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    /**
     * Keeps connections. It sends only GET and HEAD again if a connection ends: leave
     * jdk.httpclient.enableAllMethodRetry unset. A second offer adds the item twice, a second poll
     * removes another item.
     */
    private static final HttpClient CLIENT =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(Duration.ofSeconds(5))
                    .build();

    /** Sends a request; returns the response, or ends the program. */
    private static HttpResponse<byte[]> call(
            String step, int expected, String method, String path, byte[] value, String type)
            throws InterruptedException {
        BodyPublisher body =
                value == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(value);
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(GRID + path))
                        .method(method, body)
                        .timeout(TIMEOUT);
        if (type != null) request.header("Content-Type", type);
        HttpResponse<byte[]> response = null;
        try {
            response = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
        } catch (IOException error) {
            fail(step + ": no response: " + error);
        }
        if (response.statusCode() != expected) {
            String message = new String(response.body(), StandardCharsets.UTF_8);
            int status = response.statusCode();
            fail(step + ": status " + status + ", expected " + expected + ": " + message);
        }
        return response;
    }

    private static HttpResponse<byte[]> call(String step, int expected, String method, String path)
            throws InterruptedException {
        return call(step, expected, method, path, null, null);
    }

    private static void fail(String message) {
        System.err.println(message);
        System.exit(1);
    }

    private static String encode(String key) {
        // URLEncoder is for forms: it encodes a space as a plus sign.
        return URLEncoder.encode(key, StandardCharsets.UTF_8).replace("+", "%20");
    }

    public static void main(String[] arguments) throws Exception {
        String entry = "/rest/maps/example-people/" + encode("Zo\u00eb/1");
        String queue = "/rest/queues/example-jobs";

        byte[] value = "{\"name\":\"Zo\u00eb\"}".getBytes(StandardCharsets.UTF_8);
        call("put", 200, "POST", entry, value, "application/json");
        System.out.println("put: 200");
        HttpResponse<byte[]> response = call("get", 200, "GET", entry);
        System.out.print("get: 200, " + typeOf(response) + ", ");
        System.out.writeBytes(response.body());
        System.out.println();
        call("get missing", 204, "GET", "/rest/maps/example-people/nobody");
        System.out.println("get missing: 204");
        call("delete", 200, "DELETE", entry);
        System.out.println("delete: 200");
        call("clear", 200, "DELETE", "/rest/maps/example-people");
        System.out.println("clear: 200");

        // A 503 without content means that the queue is full.
        byte[] item = {0, (byte) 0xff, '\n', (byte) 0x80};
        call("offer", 200, "POST", queue, item, "application/octet-stream");
        System.out.println("offer: 200");
        response = call("size", 200, "GET", queue + "/size");
        System.out.println("size: " + new String(response.body(), StandardCharsets.US_ASCII));
        // A poll waits up to the given number of seconds.
        response = call("poll", 200, "DELETE", queue + "/1");
        String hex = HexFormat.of().formatHex(response.body());
        System.out.println("poll: 200, " + typeOf(response) + ", " + hex);
        call("poll empty", 204, "DELETE", queue + "/1");
        System.out.println("poll empty: 204");
        call("ready", 200, "GET", "/health/ready");
        System.out.println("ready: 200");
    }

    private static String typeOf(HttpResponse<byte[]> response) {
        return response.headers().firstValue("Content-Type").orElse("");
    }
}
