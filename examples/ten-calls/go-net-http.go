// Ten calls with net/http. Run: go run go-net-http.go
// GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

var grid = "http://127.0.0.1:5701/grid"

// The client keeps connections. It sends only GET, HEAD and OPTIONS again if a connection ends. Do
// not add a retry for queues: a second offer adds the item twice, a second poll removes another
// item.
var client = &http.Client{
	Timeout: 10 * time.Second, // longer than the longest poll
	// The member closes a connection that was idle for 75 s; the default here is 90 s.
	Transport: &http.Transport{IdleConnTimeout: 60 * time.Second},
}

type response struct {
	kind    string
	content []byte
}

// call sends a request. It returns the response, or ends the program.
func call(step string, expected int, method, path string, value []byte, kind string) response {
	request, err := http.NewRequest(method, grid+path, bytes.NewReader(value))
	if err != nil {
		fail("%s: %v", step, err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	answer, err := client.Do(request)
	if err != nil {
		fail("%s: no response: %v", step, err)
	}
	defer answer.Body.Close()
	// The connection is kept only if the content was read to its end.
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		fail("%s: no response: %v", step, err)
	}
	if answer.StatusCode != expected {
		fail("%s: status %d, expected %d: %s", step, answer.StatusCode, expected, content)
	}
	return response{answer.Header.Get("Content-Type"), content}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func main() {
	if given := os.Getenv("GRIDNODE_URL"); given != "" {
		grid = given
	}
	entry := "/rest/maps/example-people/" + url.PathEscape("Zoë/1")
	queue := "/rest/queues/example-jobs"

	call("put", 200, "POST", entry, []byte(`{"name":"Zoë"}`), "application/json")
	fmt.Println("put: 200")
	got := call("get", 200, "GET", entry, nil, "")
	fmt.Printf("get: 200, %s, %s\n", got.kind, got.content)
	call("get missing", 204, "GET", "/rest/maps/example-people/nobody", nil, "")
	fmt.Println("get missing: 204")
	call("delete", 200, "DELETE", entry, nil, "")
	fmt.Println("delete: 200")
	call("clear", 200, "DELETE", "/rest/maps/example-people", nil, "")
	fmt.Println("clear: 200")

	// A 503 without content means that the queue is full.
	call("offer", 200, "POST", queue, []byte("\x00\xff\n\x80"), "application/octet-stream")
	fmt.Println("offer: 200")
	got = call("size", 200, "GET", queue+"/size", nil, "")
	fmt.Printf("size: %s\n", got.content)
	// A poll waits up to the given number of seconds.
	got = call("poll", 200, "DELETE", queue+"/1", nil, "")
	fmt.Printf("poll: 200, %s, %x\n", got.kind, got.content)
	call("poll empty", 204, "DELETE", queue+"/1", nil, "")
	fmt.Println("poll empty: 204")
	call("ready", 200, "GET", "/health/ready", nil, "")
	fmt.Println("ready: 200")
}
