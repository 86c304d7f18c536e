/*
 * Ten calls over a socket, for a controller (PLC) without an HTTP library: fixed requests, fixed
 * buffers, one connection, only POSIX functions.
 * Run: cc -o raw-socket raw-socket.c && ./raw-socket
 *
 * GRIDNODE_URL is the address of another member: http, a name or an address, and the port, such as
 * http://127.0.0.1:5701/hazelcast.
 */
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Longer than the longest poll. */
#define TIMEOUT_SECONDS 10

/* A header that is longer, and a value that is longer, end the program. */
static char head[4096];
static char content[65536];
static char type[256];
static size_t length;

static char host[256], port[6], base[256];
static int connection;

static void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

static void open_connection(void) {
    const char *url = getenv("GRIDNODE_URL");
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses, *each;
    struct timeval limit = {.tv_sec = TIMEOUT_SECONDS};
    if (url == NULL) url = "http://127.0.0.1:5701/grid";
    if (sscanf(url, "http://%255[^:/]:%5[0-9]%255s", host, port, base) != 3)
        fail("GRIDNODE_URL: expected http://HOST:PORT/PATH");
    if (getaddrinfo(host, port, &hints, &addresses) != 0) fail("connect: unknown host %s", host);
    for (each = addresses; each != NULL; each = each->ai_next) {
        connection = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        /* On Linux the limit for sending also limits the connection attempt. */
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (connect(connection, each->ai_addr, each->ai_addrlen) == 0) break;
        close(connection);
    }
    if (each == NULL) fail("connect: no response from %s:%s", host, port);
    freeaddrinfo(addresses);
}

static void send_all(const char *step, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(connection, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) fail("%s: no response: the connection is closed", step);
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* Receives at least one byte. */
static size_t receive(const char *step, char *to, size_t room) {
    ssize_t received = recv(connection, to, room, 0);
    if (received <= 0) fail("%s: no response: the connection ended, or the time is over", step);
    return (size_t)received;
}

/* Copies the value of a header field, or an empty text. `name` ends with a colon. */
static void field(const char *name, char *to, size_t room) {
    const char *line = head;
    to[0] = '\0';
    while ((line = strstr(line, "\r\n")) != NULL && line[2] != '\r') {
        line += 2;
        if (strncasecmp(line, name, strlen(name)) != 0) continue;
        line += strlen(name);
        line += strspn(line, " \t");
        snprintf(to, room, "%.*s", (int)strcspn(line, "\r"), line);
        return;
    }
}

/*
 * Sends a request and receives the response into `type` and `content`, or ends the program. Do not
 * send an offer or a poll again if the connection ends: a second offer adds the item twice, a
 * second poll removes another item.
 */
static void call(const char *step, int expected, const char *method, const char *path,
                 const char *value, size_t value_length, const char *value_type) {
    char request[1024], number[16];
    size_t used = 0, head_length;
    char *end = NULL;
    int status;
    int request_length = snprintf(request, sizeof request, "%s %s%s HTTP/1.1\r\nHost: %s:%s\r\n",
                                  method, base, path, host, port);
    if (value != NULL)
        request_length += snprintf(request + request_length, sizeof request - request_length,
                                   "Content-Type: %s\r\nContent-Length: %zu\r\n", value_type,
                                   value_length);
    send_all(step, request, (size_t)request_length);
    send_all(step, "\r\n", 2);
    if (value != NULL) send_all(step, value, value_length);

    /* The header ends with an empty line. Bytes after it belong to the content. */
    while (end == NULL) {
        if (used == sizeof head - 1) fail("%s: the header of the response is too long", step);
        used += receive(step, head + used, sizeof head - 1 - used);
        head[used] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    head_length = (size_t)(end - head) + 4;
    if (sscanf(head, "HTTP/1.1 %3d", &status) != 1) fail("%s: not a response of HTTP/1.1", step);
    field("Content-Type:", type, sizeof type);
    /* A 204 has no Content-Length and no content. */
    field("Content-Length:", number, sizeof number);
    length = strtoul(number, NULL, 10);
    if (length >= sizeof content) fail("%s: the value is too long", step);
    used -= head_length;
    memcpy(content, head + head_length, used);
    while (used < length) used += receive(step, content + used, length - used);
    content[length] = '\0';
    if (status != expected) fail("%s: status %d, expected %d: %s", step, status, expected, content);
}

int main(void) {
    /* The key is "Zoë/1", percent-encoded. */
    static const char entry[] = "/rest/maps/example-people/Zo%C3%AB%2F1";
    static const char queue[] = "/rest/queues/example-jobs";
    static const char value[] = "{\"name\":\"Zo\xc3\xab\"}";
    static const char item[] = {0x00, (char)0xff, '\n', (char)0x80};

    open_connection();
    call("put", 200, "POST", entry, value, sizeof value - 1, "application/json");
    puts("put: 200");
    call("get", 200, "GET", entry, NULL, 0, NULL);
    printf("get: 200, %s, ", type);
    fwrite(content, 1, length, stdout);
    putchar('\n');
    call("get missing", 204, "GET", "/rest/maps/example-people/nobody", NULL, 0, NULL);
    puts("get missing: 204");
    call("delete", 200, "DELETE", entry, NULL, 0, NULL);
    puts("delete: 200");
    call("clear", 200, "DELETE", "/rest/maps/example-people", NULL, 0, NULL);
    puts("clear: 200");

    /* A 503 without content means that the queue is full. */
    call("offer", 200, "POST", queue, item, sizeof item, "application/octet-stream");
    puts("offer: 200");
    call("size", 200, "GET", "/rest/queues/example-jobs/size", NULL, 0, NULL);
    printf("size: %s\n", content);
    /* A poll waits up to the given number of seconds. */
    call("poll", 200, "DELETE", "/rest/queues/example-jobs/1", NULL, 0, NULL);
    printf("poll: 200, %s, ", type);
    for (size_t at = 0; at < length; at++) printf("%02x", (unsigned char)content[at]);
    putchar('\n');
    call("poll empty", 204, "DELETE", "/rest/queues/example-jobs/1", NULL, 0, NULL);
    puts("poll empty: 204");
    call("ready", 200, "GET", "/health/ready", NULL, 0, NULL);
    puts("ready: 200");
    close(connection);
    return 0;
}
