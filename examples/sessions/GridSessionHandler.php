<?php
declare(strict_types=1);

/**
 * Stores PHP's sessions as entries of a map. The map's settings are their lifetime: see
 * ../member.yaml. There is no lock: of two requests of one session at the same time, the session of
 * the one that ends last remains. If the member cannot be reached, or refuses the request, the
 * methods throw: an empty session would replace the stored one at the end of the request.
 */
final class GridSessionHandler implements
    SessionHandlerInterface, SessionUpdateTimestampHandlerInterface
{
    private CurlHandle $curl;

    /** @param string $map URL of a map, such as http://127.0.0.1:5701/grid/rest/maps/sessions */
    public function __construct(private string $map)
    {
        $this->curl = curl_init();
    }

    public function open(string $path, string $name): bool
    {
        return true;
    }

    public function close(): bool
    {
        return true;
    }

    public function read(string $id): string
    {
        [$status, $content] = $this->call('GET', $id, [200, 204]);
        return $status === 200 ? $content : '';
    }

    public function write(string $id, string $data): bool
    {
        $this->call('POST', $id, [200], $data);
        return true;
    }

    public function destroy(string $id): bool
    {
        $this->call('DELETE', $id, [200]);
        return true;
    }

    /** The member removes entries whose time is over. */
    public function gc(int $seconds): int
    {
        return 0;
    }

    /** PHP makes a new id if a client sends one that does not exist (session.use_strict_mode). */
    public function validateId(string $id): bool
    {
        return $this->call('GET', $id, [200, 204])[0] === 200;
    }

    /** Called instead of `write` for unchanged data. The read has restarted the idle time. */
    public function updateTimestamp(string $id, string $data): bool
    {
        return true;
    }

    /** Sends a request; returns status and content. Each can be repeated without harm. */
    private function call(string $method, string $id, array $expected, ?string $data = null): array
    {
        curl_reset($this->curl);
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $this->map . '/' . rawurlencode($id),
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_CONNECTTIMEOUT => 2,
            CURLOPT_TIMEOUT => 5,
        ]);
        if ($data !== null) {
            curl_setopt($this->curl, CURLOPT_POSTFIELDS, $data);
            $header = ['Content-Type: application/octet-stream'];
            curl_setopt($this->curl, CURLOPT_HTTPHEADER, $header);
        }
        $content = curl_exec($this->curl);
        if ($content === false) throw new RuntimeException('sessions: ' . curl_error($this->curl));
        $status = curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE);
        if (!in_array($status, $expected, true))
            throw new RuntimeException("sessions: status $status: $content");
        return [$status, $content];
    }
}
