import assert from 'node:assert/strict'
import type { Revocations } from '../../../src/auth/ended-credentials.ts'
import { openRevocations } from '../../../src/auth/folder-revocations.ts'
import { StorageFullError, StorageUnavailableError } from '../../../src/errors.ts'
import type { FileSystem } from '../../../src/files/file-system.ts'
import { type HeldClock, holdClock } from '../../support/held-clock.ts'
import type { VolatileFiles } from '../volatile/volatile-files.ts'
import { lifeFolder, type Running, type Subject, silentLog } from './lives.ts'

export type RevocationRequest =
  /** Ends a credential with this lifetime. */
  { readonly lastsSeconds: number } | { readonly advanceMs: number }

/** Doubtful: without an answer, or refused because the disk failed and has not recovered. */
type Fate = 'ended' | 'doubtful' | 'refused'

interface Credential {
  readonly jti: string
  readonly exp: number
  readonly fate: Fate
}

interface RevocationsState {
  readonly wasOpen: boolean
  readonly credentials: readonly Credential[]
}

let serial = 0

/** The file of ended credentials. */
export const revocationsSubject: Subject<RevocationRequest, RevocationsState> = {
  firstState: { wasOpen: false, credentials: [] },
  begin(state) {
    let { wasOpen } = state
    const asked = new Map(state.credentials.map((credential) => [credential.jti, credential]))

    /** The machine's clock is set back before each start. */
    const open = (files: FileSystem, clock: HeldClock) =>
      openRevocations({ ...lifeFolder, files }, { mustExist: wasOpen, log: silentLog, makeClock: clock.make })
    return {
      async open(files, seen) {
        const clock = holdClock()
        const revocations = await open(seen, clock)
        wasOpen = true
        return observe(revocations, clock, asked, files)
      },
      async read(files) {
        const revocations = await open(files, holdClock())
        const credentials = [...asked.values()].map((credential) => found(revocations, credential))
        return { found: { wasOpen, credentials }, opened: { wasOpen: true, credentials } }
      },
    }
  },
}

/** What is known of a credential once it has been checked after a power loss. */
function found(revocations: Revocations, credential: Credential): Credential {
  const { jti, exp, fate } = credential
  const isListed = revocations.has(jti)
  const isOver = isListed || revocations.clock.now() >= exp * 1000
  if (fate === 'ended') assert.ok(isOver, `the ended credential ${jti} was valid again`)
  if (fate === 'refused') assert.ok(!isListed, `the credential ${jti} had ended although that was refused`)
  return fate === 'doubtful' ? { jti, exp, fate: isOver ? 'ended' : 'refused' } : credential
}

function observe(
  revocations: Revocations,
  clock: HeldClock,
  asked: Map<string, Credential>,
  disk: Pick<VolatileFiles, 'isDead' | 'failures'>,
): Running<RevocationRequest> {
  const wrong: unknown[] = []
  const inFlight = new Set<string>()

  function end(lastsSeconds: number) {
    serial += 1
    const jti = `credential-${serial}`
    const exp = Math.floor(revocations.clock.now() / 1000) + lastsSeconds
    const decide = (fate: Fate) => {
      inFlight.delete(jti)
      if (!disk.isDead) asked.set(jti, { jti, exp, fate })
    }
    asked.set(jti, { jti, exp, fate: 'doubtful' })
    inFlight.add(jti)
    revocations.add(jti, exp).then(
      () => decide('ended'),
      (error: unknown) => {
        const isFailed = error instanceof StorageUnavailableError
        decide(isFailed ? 'doubtful' : 'refused')
        if (disk.failures === 0 || !(isFailed || error instanceof StorageFullError)) wrong.push(error)
      },
    )
  }

  return {
    request(request) {
      if ('advanceMs' in request) clock.advance(request.advanceMs)
      else end(request.lastsSeconds)
    },
    get waiting() {
      return inFlight.size
    },
    get isWritable() {
      return revocations.isWritable
    },
    check() {
      if (wrong.length > 0) throw wrong[0]
      for (const credential of asked.values()) {
        if (credential.fate !== 'doubtful') found(revocations, credential)
        else if (revocations.isWritable && !inFlight.has(credential.jti)) {
          asked.set(credential.jti, { ...credential, fate: 'refused' })
        }
      }
    },
    close: () => revocations.close(),
  }
}
