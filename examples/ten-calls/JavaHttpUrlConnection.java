import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/**
 * Ten calls with HttpURLConnection, for older programs. Run: java JavaHttpUrlConnection.java
 *
 * <p>GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
 */
class JavaHttpUrlConnection {
    private static final String GRID =
            System.getenv().getOrDefault("GRIDNODE_URL", "http://127.0.0.1:5701/grid");

    private static final int CONNECT_MS = 5_000;

    /** Longer than the longest poll. */
    private static final int READ_MS = 10_000;

    private static class Response {
        int status;
        String type;
        byte[] content;
    }

    /** Sends a request; returns the response, or ends the program. */
    private static Response call(
            String step, int expected, String method, String path, byte[] value, String type) {
        Response response = new Response();
        try {
            URL url = URI.create(GRID + path).toURL();
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            connection.setRequestMethod(method);
            connection.setConnectTimeout(CONNECT_MS);
            connection.setReadTimeout(READ_MS);
            if (type != null) connection.setRequestProperty("Content-Type", type);
            // If a connection ends before the response, HttpURLConnection sends the request again,
            // even a POST. A second offer adds the item twice, a second poll removes another item.
            // It does not repeat a request whose content has a fixed length, which can be 0.
            if (!method.equals("GET")) {
                byte[] bytes = value == null ? new byte[0] : value;
                connection.setDoOutput(true);
                connection.setFixedLengthStreamingMode(bytes.length);
                try (OutputStream out = connection.getOutputStream()) {
                    out.write(bytes);
                }
            }
            response.status = connection.getResponseCode();
            String found = connection.getContentType();
            response.type = found == null ? "" : found;
            boolean isError = response.status >= 400;
            // The connection is kept only if the content was read to its end.
            try (InputStream in =
                    isError ? connection.getErrorStream() : connection.getInputStream()) {
                response.content = in == null ? new byte[0] : in.readAllBytes();
            }
        } catch (IOException error) {
            fail(step + ": no response: " + error);
        }
        if (response.status != expected) {
            String message = new String(response.content, StandardCharsets.UTF_8);
            fail(step + ": status " + response.status + ", expected " + expected + ": " + message);
        }
        return response;
    }

    private static Response call(String step, int expected, String method, String path) {
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

    public static void main(String[] arguments) {
        String entry = "/rest/maps/example-people/" + encode("Zo\u00eb/1");
        String queue = "/rest/queues/example-jobs";

        byte[] value = "{\"name\":\"Zo\u00eb\"}".getBytes(StandardCharsets.UTF_8);
        call("put", 200, "POST", entry, value, "application/json");
        System.out.println("put: 200");
        Response response = call("get", 200, "GET", entry);
        System.out.print("get: 200, " + response.type + ", ");
        System.out.write(response.content, 0, response.content.length);
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
        System.out.println("size: " + new String(response.content, StandardCharsets.US_ASCII));
        // A poll waits up to the given number of seconds.
        response = call("poll", 200, "DELETE", queue + "/1");
        StringBuilder hex = new StringBuilder();
        for (byte each : response.content) hex.append(String.format("%02x", each));
        System.out.println("poll: 200, " + response.type + ", " + hex);
        call("poll empty", 204, "DELETE", queue + "/1");
        System.out.println("poll empty: 204");
        call("ready", 200, "GET", "/health/ready");
        System.out.println("ready: 200");
    }
}
