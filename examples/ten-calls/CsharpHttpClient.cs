using System;
using System.IO;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading.Tasks;

/// <summary>
/// Ten calls with HttpClient. Run: dotnet new console --output ten-calls, replace its Program.cs by
/// this file, dotnet run --project ten-calls. From .NET 10: dotnet run CsharpHttpClient.cs.
/// GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
/// </summary>
static class Program
{
    static readonly string Grid =
        Environment.GetEnvironmentVariable("GRIDNODE_URL") ?? "http://127.0.0.1:5701/grid";

    static readonly Stream Output = Console.OpenStandardOutput();

    // Keeps connections. The time limit is longer than the longest poll.
    static readonly HttpClient Client = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };

    static readonly byte[] NoBytes = new byte[0];

    class Response
    {
        public string Type = "";
        public byte[] Content = NoBytes;
    }

    class UnexpectedResponse : Exception
    {
        public UnexpectedResponse(string message) : base(message) { }
    }

    /// <summary>Sends a request; fails unless the response has the expected status.</summary>
    static async Task<Response> Call(string step, int expected, string method, string path,
        byte[] value = null, string type = null)
    {
        using (var request = new HttpRequestMessage(new HttpMethod(method), Grid + path))
        {
            // If the connection ends before the response, .NET sends a request without content
            // again. A second poll removes another item, so each DELETE has an empty content.
            if (value != null || method != "GET")
                request.Content = new ByteArrayContent(value ?? NoBytes);
            if (type != null)
                request.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(type);
            try
            {
                using (var response = await Client.SendAsync(request))
                {
                    var content = await response.Content.ReadAsByteArrayAsync();
                    var status = (int)response.StatusCode;
                    if (status != expected)
                    {
                        var message = Encoding.UTF8.GetString(content);
                        throw new UnexpectedResponse(
                            $"{step}: status {status}, expected {expected}: {message}");
                    }
                    var found = response.Content.Headers.ContentType;
                    return new Response { Type = $"{found}", Content = content };
                }
            }
            catch (Exception error) when (error is HttpRequestException
                || error is IOException || error is TaskCanceledException)
            {
                throw new UnexpectedResponse($"{step}: no response: {error.Message}");
            }
        }
    }

    static void Print(string text)
    {
        var bytes = Encoding.UTF8.GetBytes(text);
        Output.Write(bytes, 0, bytes.Length);
    }

    static async Task TenCalls()
    {
        var entry = "/rest/maps/example-people/" + Uri.EscapeDataString("Zo\u00eb/1");
        var queue = "/rest/queues/example-jobs";

        var value = Encoding.UTF8.GetBytes("{\"name\":\"Zo\u00eb\"}");
        await Call("put", 200, "POST", entry, value, "application/json");
        Print("put: 200\n");
        var response = await Call("get", 200, "GET", entry);
        Print($"get: 200, {response.Type}, ");
        Output.Write(response.Content, 0, response.Content.Length);
        Print("\n");
        await Call("get missing", 204, "GET", "/rest/maps/example-people/nobody");
        Print("get missing: 204\n");
        await Call("delete", 200, "DELETE", entry);
        Print("delete: 200\n");
        await Call("clear", 200, "DELETE", "/rest/maps/example-people");
        Print("clear: 200\n");

        // A 503 without content means that the queue is full.
        var item = new byte[] { 0x00, 0xff, 0x0a, 0x80 };
        await Call("offer", 200, "POST", queue, item, "application/octet-stream");
        Print("offer: 200\n");
        response = await Call("size", 200, "GET", queue + "/size");
        Print($"size: {Encoding.ASCII.GetString(response.Content)}\n");
        // A poll waits up to the given number of seconds.
        response = await Call("poll", 200, "DELETE", queue + "/1");
        var hex = BitConverter.ToString(response.Content).Replace("-", "").ToLowerInvariant();
        Print($"poll: 200, {response.Type}, {hex}\n");
        await Call("poll empty", 204, "DELETE", queue + "/1");
        Print("poll empty: 204\n");
        await Call("ready", 200, "GET", "/health/ready");
        Print("ready: 200\n");
    }

    static int Main()
    {
        try
        {
            TenCalls().GetAwaiter().GetResult();
            return 0;
        }
        catch (UnexpectedResponse error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
