<?php
// A page that counts the visits of each visitor. Run, with GRIDNODE_URL for another member:
// php -S 127.0.0.1:8000 index.php
declare(strict_types=1);

require __DIR__ . '/GridSessionHandler.php';

header('Content-Type: text/plain');
// Without sessions the page is not available. It does not begin new ones.
set_exception_handler(function (Throwable $error): void {
    error_log($error->getMessage());
    http_response_code(503);
    echo "Sessions are not available\n";
});

$grid = getenv('GRIDNODE_URL') ?: 'http://127.0.0.1:5701/grid';
$handler = new GridSessionHandler("$grid/rest/maps/example-sessions");
session_set_save_handler($handler, true);
// In earnest also cookie_secure, which requires https.
session_start(['use_strict_mode' => true, 'cookie_httponly' => true, 'cookie_samesite' => 'Lax']);

if (isset($_GET['logout'])) {
    session_destroy();
    echo "logged out\n";
    return;
}
$_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
$visits = $_SESSION['visits'];
// Before the output, so that a failure is reported.
session_write_close();
echo "visit $visits\n";
