#!/usr/bin/env perl
# Ten calls with HTTP::Tiny, which is part of Perl. Run: perl perl-http-tiny.pl
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
use strict;
use warnings;
use HTTP::Tiny;

my $grid = $ENV{GRIDNODE_URL} || 'http://127.0.0.1:5701/grid';
# Keeps the connection. The time limit, in seconds, is longer than the longest poll.
my $http = HTTP::Tiny->new(timeout => 10);

# Sends a request; returns the response, or ends the program.
sub call {
    my ($step, $expected, $method, $path, %options) = @_;
    my $response = $http->request($method, $grid . $path, \%options);
    my $status = $response->{status};
    # 599 is not a response but an error of the connection.
    fail("$step: no response: $response->{content}") if $status == 599;
    fail("$step: status $status, expected $expected: $response->{content}")
        if $status != $expected;
    return $response;
}

# Polls a queue. If the connection ends, HTTP::Tiny sends a DELETE again, which is right for maps. A
# second poll removes another item, so this content, which is empty, can be sent only once.
sub poll {
    my ($step, $expected, $path) = @_;
    my $sent = 0;
    my $once = sub { $sent++ ? die "the connection ended\n" : undef };
    return call($step, $expected, DELETE => $path, content => $once);
}

sub fail {
    my ($message) = @_;
    chomp $message;
    print STDERR "$message\n";
    exit 1;
}

sub encode {
    my ($key) = @_;
    $key =~ s/([^A-Za-z0-9_.~-])/sprintf '%%%02X', ord $1/ge;
    return $key;
}

# Without `use utf8` this text is bytes, in the encoding of this file.
my $entry = '/rest/maps/example-people/' . encode('Zoë/1');
my $queue = '/rest/queues/example-jobs';

call('put', 200, POST => $entry,
    content => '{"name":"Zoë"}', headers => {'Content-Type' => 'application/json'});
print "put: 200\n";
my $response = call('get', 200, GET => $entry);
my $type = $response->{headers}{'content-type'} // '';
print "get: 200, $type, $response->{content}\n";
call('get missing', 204, GET => '/rest/maps/example-people/nobody');
print "get missing: 204\n";
call('delete', 200, DELETE => $entry);
print "delete: 200\n";
call('clear', 200, DELETE => '/rest/maps/example-people');
print "clear: 200\n";

# A 503 without content means that the queue is full.
call('offer', 200, POST => $queue,
    content => "\x00\xff\n\x80", headers => {'Content-Type' => 'application/octet-stream'});
print "offer: 200\n";
print 'size: ', call('size', 200, GET => "$queue/size")->{content}, "\n";
# A poll waits up to the given number of seconds.
$response = poll('poll', 200, "$queue/1");
$type = $response->{headers}{'content-type'} // '';
print "poll: 200, $type, ", unpack('H*', $response->{content}), "\n";
poll('poll empty', 204, "$queue/1");
print "poll empty: 204\n";
call('ready', 200, GET => '/health/ready');
print "ready: 200\n";
