import { callerKey, isAsAdmitted, type Principal, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { WAITING_CALLS_LOOK_MS, WAITING_CALLS_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import type { LongWork, Scheduler } from '../scheduler.ts'
import { checkReadable, type StateGuard } from './state-guard.ts'

/**
 * Characters of a query and of the grants of its account that take one place more: with filter and checks, they take several
 * times as many bytes.
 */
export const WAITING_PLACE_CHARACTERS = 1024
/** Share of them for one account. */
export const ACCOUNT_WAITING_CALLS_SHARE = 1 / 4

/** The caller of the scheduler for the looks. */
const LOOKS = 'looks at waiting calls'

/** A call that stays open until something happens. */
export interface WaitingCall {
  /** Called every WAITING_CALLS_LOOK_MS or so. @param nowMs Of a monotonic clock. */
  look(nowMs: number): void
  /** Ends it: another caller gets its place, or the server stops. */
  giveWay(): void
}

/** What shows whose a call is, and how many places it takes. */
type EnteringRequest = Pick<Request, 'principal' | 'address'> & { readonly query?: string }

/** Calls of one caller, oldest first, with the places that they take. */
class OwnCalls {
  readonly calls = new Map<WaitingCall, number>()
  places = 0
}

/**
 * The event streams and waiting polls. One with a long query, or of an account with long grants, takes several places,
 * because it holds so much memory, and each look at a change takes so long. Each account has a share; when too few places
 * are left, the oldest calls of the account with most give way to an account with fewer. One timer looks at all of them, and
 * ends them when the state is too old to be read: silence would say that nothing changes.
 */
export class WaitingCalls {
  readonly #scheduler: Pick<Scheduler, 'run'>
  readonly #log: Pick<Log, 'error'>
  readonly #guard: Pick<StateGuard, 'whyNotReadable'> | undefined
  readonly #max: number
  readonly #accountMax: number
  readonly #byCaller = new Map<string, OwnCalls>()
  #count = 0
  #places = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(
    scheduler: Pick<Scheduler, 'run'>,
    log: Pick<Log, 'error'>,
    max = WAITING_CALLS_MAX,
    guard?: Pick<StateGuard, 'whyNotReadable'>,
  ) {
    this.#scheduler = scheduler
    this.#log = log
    this.#guard = guard
    this.#max = max
    this.#accountMax = Math.max(1, Math.floor(max * ACCOUNT_WAITING_CALLS_SHARE))
  }

  get count(): number {
    return this.#count
  }

  /**
   * Takes a place, until the function returned is called.
   *
   * @throws {Problem} 503 if there is none for this caller, or the server stops.
   */
  enter(request: EnteringRequest, call: WaitingCall): () => void {
    const caller = callerKey(request)
    if (this.#isClosed) throw refused('the server is stopping')
    const places = placesOf(request)
    const before = this.#byCaller.get(caller)
    const ownPlaces = (before?.places ?? 0) + places
    // A single one may have more places than the share.
    if (before !== undefined && ownPlaces > this.#accountMax)
      throw refused(`this account has ${before.calls.size} event streams and waiting requests already`)
    while (this.#places > 0 && this.#places + places > this.#max) this.#makeRoom(ownPlaces)
    const own = this.#byCaller.get(caller) ?? new OwnCalls()
    own.calls.set(call, places)
    own.places += places
    this.#byCaller.set(caller, own)
    this.#count += 1
    this.#places += places
    this.#lookLater()
    return () => this.#leave(caller, call)
  }

  /** @throws {StorageUnavailableError} if the state is too old to be read. */
  checkReadable(): void {
    if (this.#guard !== undefined) checkReadable(this.#guard)
  }

  /** Runs a task for the calls. Never rejects: a bug that ends it is reported, and there is no result. */
  async run<Result>(caller: string, work: LongWork<Result>): Promise<Result | undefined> {
    try {
      return await this.#scheduler.run(caller, work)
    } catch (error) {
      this.report(error)
      return undefined
    }
  }

  /** Says in the log what a bug has thrown in work for a call; the caller of this must end that call. */
  report(error: unknown): void {
    this.#log.error('waiting_request_failed', {
      reason: error instanceof Error ? error.stack : String(error),
    })
  }

  /** Ends all of them, and refuses others. */
  close(): void {
    this.#isClosed = true
    for (const call of this.#all()) call.giveWay()
    clearTimeout(this.#timer)
  }

  /** @param ownPlaces The places of the caller, with those that it wants. @throws {Problem} 503 if no account has more. */
  #makeRoom(ownPlaces: number) {
    let caller = ''
    let most = new OwnCalls()
    for (const [key, own] of this.#byCaller) if (own.places > most.places) [caller, most] = [key, own]
    const [oldest] = most.calls.keys()
    // With as many, two accounts would push each other out for ever.
    if (oldest === undefined || most.places <= ownPlaces)
      throw refused(`there are ${this.#count} event streams and waiting requests`)
    oldest.giveWay()
    // A poll answers some turns later; its place is free now.
    this.#leave(caller, oldest)
  }

  #leave(caller: string, call: WaitingCall) {
    const own = this.#byCaller.get(caller)
    const places = own?.calls.get(call)
    if (own === undefined || places === undefined) return
    own.calls.delete(call)
    own.places -= places
    this.#count -= 1
    this.#places -= places
    if (own.calls.size === 0) this.#byCaller.delete(caller)
  }

  #all(): WaitingCall[] {
    return [...this.#byCaller.values()].flatMap(({ calls }) => [...calls.keys()])
  }

  #lookLater() {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#lookNow(), WAITING_CALLS_LOOK_MS)
  }

  async #lookNow() {
    await this.run(LOOKS, this.#look())
    this.#timer = undefined
    if (this.#count > 0 && !this.#isClosed) this.#lookLater()
  }

  *#look(): LongWork<void> {
    for (const call of this.#all()) {
      try {
        if (this.#guard?.whyNotReadable() === undefined) call.look(performance.now())
        else call.giveWay()
      } catch (error) {
        this.report(error)
        call.giveWay()
      }
      yield
    }
  }
}

function placesOf({ query = '', principal }: EnteringRequest): number {
  const { grants = [] } = principal ?? {}
  const characters = grants.reduce((sum, { length }) => sum + length, query.length)
  return 1 + Math.floor(characters / WAITING_PLACE_CHARACTERS)
}

function refused(reason: string): Problem {
  const message = `Cannot wait for changes: ${reason}; try again later`
  return new Problem('overloaded', message, { headers: { 'Retry-After': '5' } })
}

/**
 * Checks the credential of many requests, each credential once: whether it is good for what it was good for at their head.
 * It may be used until something else runs.
 */
export class CredentialChecks {
  readonly #ended = new Map<Principal, boolean>()

  hasEnded(request: Request): boolean {
    // Made by each credential for itself.
    const { principal } = request
    if (principal === undefined) return !isAsAdmitted(request)
    let ended = this.#ended.get(principal)
    if (ended === undefined) {
      ended = !isAsAdmitted(request)
      this.#ended.set(principal, ended)
    }
    return ended
  }

  /** Call it when something else has run. */
  forget(): void {
    this.#ended.clear()
  }
}
