import { Counter, counter, type Family, gauge, Histogram } from '../metrics/family.ts'
import { elapsedInTurn, readElapsed } from '../turn-clock.ts'
import type { IncomingRequest } from './incoming-request.ts'

const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Any other method counts as `other`, so that callers cannot multiply the samples. */
const COUNTED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
const OTHER_METHOD = 'other'
const NO_ROUTE = 'none'

/** Metrics of one route pattern, or of all requests without a route. */
class ResourceMetrics {
  readonly durations = new Histogram(DURATION_BOUNDS)
  /** By status. */
  readonly #otherMethods = new Map<number, Counter>()
  readonly #byMethod = new Map([
    ...COUNTED_METHODS.map((method) => [method, new Map<number, Counter>()] as const),
    [OTHER_METHOD, this.#otherMethods] as const,
  ])

  count(method: string, status: number): void {
    const byStatus = this.#byMethod.get(method) ?? this.#otherMethods
    let answers = byStatus.get(status)
    if (answers === undefined) {
      answers = new Counter()
      byStatus.set(status, answers)
    }
    answers.increment()
  }

  *samples(route: string) {
    for (const [method, byStatus] of this.#byMethod) {
      for (const [status, answers] of byStatus) {
        yield { labels: { route, method, status: String(status) }, value: answers.value }
      }
    }
  }
}

/** Counts and times requests by route pattern. */
export class RequestMetrics {
  /** Messages without a request to handle, answered with a 4xx. */
  readonly malformed = new Counter()
  readonly cutOff = new Counter()
  /** By route pattern. */
  readonly #resources = new Map<string, ResourceMetrics>()
  #inFlight = 0

  begin(request: IncomingRequest): void {
    request.beganMs = elapsedInTurn()
    this.#inFlight += 1
  }

  /** Call it once the answer has been handed to the socket, or could not be. */
  end({ pattern = NO_ROUTE, method, beganMs }: IncomingRequest, status: number): void {
    this.#inFlight -= 1
    let resource = this.#resources.get(pattern)
    if (resource === undefined) {
      resource = new ResourceMetrics()
      this.#resources.set(pattern, resource)
    }
    resource.count(method, status)
    resource.durations.observe((readElapsed() - beganMs) / 1000)
  }

  get families(): Family[] {
    return [
      {
        name: 'connbook_http_requests_total',
        help: 'Answered requests, by the pattern of the path, the method and the status.',
        type: 'counter',
        labels: ['route', 'method', 'status'],
        samples: () => [...this.#resources].flatMap(([route, resource]) => [...resource.samples(route)]),
      },
      {
        name: 'connbook_http_request_duration_seconds',
        help: 'Time from the head of a request until its answer was handed to the socket.',
        type: 'histogram',
        labels: ['route'],
        samples: () =>
          Array.from(this.#resources, ([route, { durations }]) => ({ labels: { route }, value: durations })),
      },
      gauge(
        'connbook_http_requests_in_flight',
        'Requests that are being answered, this one included.',
        () => this.#inFlight,
      ),
      counter(
        'connbook_http_malformed_total',
        'Messages that could not be read as a request; connbook_http_requests_total does not count them.',
        () => this.malformed.value,
      ),
      counter(
        'connbook_http_connections_cut_off_total',
        'Connections that were closed to make room for others.',
        () => this.cutOff.value,
      ),
    ]
  }
}
