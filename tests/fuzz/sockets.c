#define _GNU_SOURCE /* for MSG_NOSIGNAL */
#include "sockets.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "shortage.h"
#include "varint.h"
#include "world.h"

enum { MAX_REQUEST_BYTES = 4096, SOCKET_BYTES = 8192, MAX_CONNECTIONS = 6, TIMEOUT_MS = 25 };
enum { HEAD_BYTES = 8, BROKER_WAIT_MS = 100, STREAM_WAIT_MS = 1 };

uint64_t connections, requests_received;

static void require(bool holds) {
    if (!holds)
        abort();
}

/* --- the broker ---------------------------------------------------------------------------------- */

typedef struct {
    int socket;
    uint64_t seed, requests;
    bool is_sound; /* the sets it has; connections break all the same */
    pthread_t thread;
} broker;

bool receive_all(int socket, uint8_t *to, size_t size) {
    for (size_t at = 0; at < size;) {
        const ssize_t count = recv(socket, to + at, size - at, 0);
        if (count <= 0)
            return false;
        at += (size_t)count;
    }
    return true;
}

static uint64_t number(const uint8_t *at, size_t size) {
    uint64_t value = 0;
    for (size_t byte = 0; byte < size; byte++)
        value = value << 8 | at[byte];
    return value;
}

/* What is left of a request. What the pump sends is sound, whatever it received. */
typedef struct {
    const uint8_t *at;
    int version;
} reading;

static uint64_t take_number(reading *self, size_t size) {
    self->at += size;
    return number(self->at - size, size);
}

/* A number that has to be there, where the version has it. */
static void skip_number(reading *self, int since, size_t size, uint64_t expected) {
    if (self->version >= since)
        require(take_number(self, size) == expected);
}

static size_t take_length(reading *self, size_t size) {
    if (self->version < ZK_FETCH_FLEXIBLE)
        return take_number(self, size);
    uint64_t length;
    self->at = zk_varint_slow(self->at, self->at + 5, 32, &length);
    require(self->at && length);
    return length - 1;
}

static part take_part(reading *self, const uint8_t *name, size_t name_bytes) {
    part one = {.topic = name, .topic_bytes = name_bytes};
    one.partition = (int32_t)take_number(self, 4);
    skip_number(self, ZK_FETCH_EPOCHS, 4, (uint32_t)epoch_of(one.partition));
    one.offset = (int64_t)take_number(self, 8);
    skip_number(self, ZK_FETCH_FLEXIBLE, 4, UINT32_MAX);
    skip_number(self, ZK_FETCH_LOG_START, 8, UINT64_MAX);
    one.most_bytes = take_number(self, 4);
    skip_number(self, ZK_FETCH_FLEXIBLE, 1, 0);
    return one;
}

static void skip_head(reading *self) {
    self->at += HEAD_BYTES;
    self->at += take_number(self, 2); /* the client id */
    skip_number(self, ZK_FETCH_FLEXIBLE, 1, 0);
    self->at += 12; /* the replica, the wait, the least bytes */
    if (self->version >= ZK_FETCH_BOUNDED)
        require(take_number(self, 4) > 0);
    skip_number(self, ZK_FETCH_TRANSACTIONS, 1, 0);
    skip_number(self, ZK_FETCH_SESSIONS, 4, 0);
    skip_number(self, ZK_FETCH_SESSIONS, 4, UINT32_MAX);
}

size_t parse_request(const uint8_t *request, size_t size, part *parts) {
    reading self = {request, (int)number(request + 2, 2)};
    size_t count = 0;
    skip_head(&self);
    for (size_t topics = take_length(&self, 4); topics; topics--) {
        const bool has_ids = self.version >= ZK_FETCH_TOPIC_IDS;
        const size_t name_bytes = has_ids ? ZK_TOPIC_ID_BYTES : take_length(&self, 2);
        const uint8_t *const name = self.at;
        self.at += name_bytes;
        for (size_t partitions = take_length(&self, 4); partitions; partitions--) {
            require(count < MOST_SLOTS);
            parts[count++] = take_part(&self, name, name_bytes);
        }
        skip_number(&self, ZK_FETCH_FLEXIBLE, 1, 0);
    }
    if (self.version >= ZK_FETCH_SESSIONS)
        require(take_length(&self, 4) == 0);
    if (self.version >= ZK_FETCH_REPLICAS)
        require(take_length(&self, 2) == 0);
    skip_number(&self, ZK_FETCH_FLEXIBLE, 1, 0);
    require(self.at == request + size);
    return count;
}

/* Sends a response in pieces; false where it hangs up in the middle. */
static bool send_pieces(int socket, bytes frame) {
    const size_t most = below(2) ? frame.size : 1 + below(3000);
    const size_t until = below(12) ? frame.size : below(frame.size);
    for (size_t at = 0; at < until;) {
        const size_t left = until - at, piece = 1 + below(most);
        const ssize_t count = send(socket, frame.data + at, piece < left ? piece : left,
                                   MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        at += (size_t)count;
    }
    return until == frame.size;
}

static bool respond(broker *self, const uint8_t *request, size_t size) {
    part parts[MOST_SLOTS];
    const size_t count = parse_request(request, size, parts);
    if (below(20) == 0)
        return false;
    if (below(30) == 0) /* until the pump gives up, or is stopped */
        return poll(&(struct pollfd){.fd = self->socket, .events = POLLIN}, 1, BROKER_WAIT_MS) == 0;
    const int32_t correlation_id = (int32_t)number(request + 4, 4);
    const int version = (int)number(request + 2, 2);
    bytes frame = make_response(version, correlation_id, parts, count, self->is_sound);
    if (!self->is_sound && below(6) == 0)
        damage_frame(frame);
    const bool goes_on = send_pieces(self->socket, frame);
    free(frame.data);
    return goes_on;
}

static void *serve(void *argument) {
    broker *self = argument;
    uint8_t length[4], request[MAX_REQUEST_BYTES];
    begin_chance(self->seed);
    while (receive_all(self->socket, length, sizeof length)) {
        const size_t size = number(length, 4);
        require(size <= MAX_REQUEST_BYTES && size > HEAD_BYTES);
        if (!receive_all(self->socket, request, size))
            break;
        self->requests++;
        if (!respond(self, request, size))
            break;
    }
    shutdown(self->socket, SHUT_RDWR);
    return NULL;
}

/* Starts a broker; returns the pump's end of the connection. */
static int connect_broker(broker *self, bool is_sound) {
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const int bytes = SOCKET_BYTES;
    for (int at = 0; at < 2; at++)
        require(setsockopt(ends[at], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0);
    *self = (broker){.socket = ends[1], .seed = chance(), .is_sound = is_sound};
    require(pthread_create(&self->thread, NULL, serve, self) == 0);
    connections++;
    return ends[0];
}

static void disconnect(broker *self, int socket) {
    close(socket);
    pthread_join(self->thread, NULL);
    close(self->socket);
    requests_received += self->requests;
}

/* --- the pump ------------------------------------------------------------------------------------ */

typedef struct {
    world *world;
    uint64_t seed;
    atomic_bool *is_over;
} fetcher;

static zk_pump_end run_once(const world *world, int socket) {
    zk_pump *pump = world->pump;
    const bool is_short = below(4) == 0;
    if (is_short)
        begin_shortage(chance(), 20 + below(200));
    int64_t quiet_ms = below(3) ? 0 : 1 + (int64_t)below(10);
    zk_pump_end end;
    while ((end = zk_pump_run(pump, socket, quiet_ms)) == ZK_PUMP_SILENT)
        quiet_ms = 0;
    const bool has_failed = is_short && end_shortage();
    require(end != ZK_PUMP_NO_MEMORY || has_failed);
    require(end != ZK_PUMP_BROKEN || pump->failure != ZK_IO_NONSENSE || !world->is_sound);
    return end;
}

/* As the fetcher's thread in Python does: one connection after the other, and the odd in between. */
static void *fetch(void *argument) {
    fetcher *self = argument;
    zk_pump *pump = self->world->pump;
    begin_chance(self->seed);
    zk_pump_end end = ZK_PUMP_BROKEN;
    for (int left = MAX_CONNECTIONS; left && end != ZK_PUMP_STOPPED; left--) {
        broker broker;
        const int socket = connect_broker(&broker, self->world->is_sound);
        while ((end = run_once(self->world, socket)) == ZK_PUMP_CALLED) {
            zk_pump_clear_call(pump);
            lend_again(self->world);
        }
        disconnect(&broker, socket);
        lend_again(self->world);
    }
    atomic_store(self->is_over, true);
    return NULL;
}

/* --- the stream ---------------------------------------------------------------------------------- */

static void read_some(world *self) {
    for (size_t times = below(8); times; times--)
        take_chunk(self, self->queues[below(self->queue_count)]);
    const size_t what = below(400);
    if (what < 4)
        zk_claim_set_active(self->partitions[below(self->partition_count)].claim, false);
    else if (what < 30)
        zk_pump_call(self->pump);
    zk_queue_wait(self->queues[0], true, STREAM_WAIT_MS);
}

void run_over_sockets(void) {
    const uint64_t next_seed = chance(); /* how much chance is used from here on hangs on time */
    world self;
    atomic_bool is_over;
    atomic_init(&is_over, false);
    begin_world(&self);
    self.pump->timeout_ms = TIMEOUT_MS;
    self.pump->max_frame_bytes = self.pump->max_entry_bytes = MAX_ANSWER_BYTES;
    self.pump->plan.max_wait_ms = 1;
    fetcher fetcher = {&self, chance(), &is_over};
    pthread_t thread;
    require(pthread_create(&thread, NULL, fetch, &fetcher) == 0);
    for (size_t left = 20 + below(200); left && !atomic_load(&is_over); left--)
        read_some(&self);
    zk_pump_stop(self.pump);
    pthread_join(thread, NULL);
    check_end(&self);
    end_world(&self);
    begin_chance(next_seed);
}
