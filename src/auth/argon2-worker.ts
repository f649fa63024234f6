import type { Worker } from 'node:worker_threads'
// The default import: tests can replace its Worker.
import workerThreads from 'node:worker_threads'
import { OverloadedError } from '../errors.ts'

/** How long the thread that checks passwords stays without work; a new one takes some 40 ms to start. */
const ARGON2_WORKER_QUIET_MS = 10_000
/** Address space for the compiled code of that thread; V8 would reserve 128 MiB. */
const ARGON2_WORKER_CODE_MIB = 8
/** Heap of that thread's JavaScript, which needs some 5 MiB; the memory of a hash is not part of it. */
const ARGON2_WORKER_HEAP_MIB_MAX = 16

export interface Argon2Parameters {
  readonly message: string
  readonly nonce: Uint8Array
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
  /** Bytes. */
  readonly tagLength: number
}

export interface Argon2Worker {
  /**
   * Computes argon2id (RFC 9106) as soon as the calls before it are done.
   *
   * @throws {OverloadedError} if the thread cannot start, or ends before it is done; the next call starts another.
   */
  compute(parameters: Argon2Parameters): Promise<Uint8Array>
}

type WorkerAnswer =
  | { readonly id: number; readonly tag: Uint8Array }
  | { readonly id: number; readonly error: Error }

/** Asks the thread to give back its memory and to end. */
const END = 'end'

// A text, because the executable has no file for a thread to start from.
//
// glibc gives freed memory at the end of a thread's heap back only once it has twice the size of the largest block
// that was mapped and freed (M_MMAP_THRESHOLD and M_TRIM_THRESHOLD in mallopt(3)). The memory of a hash is too short
// for that. So the thread takes and frees blocks that it never writes to, which cost nothing:
// - At its start one that is larger than the memory of a hash, so that all hashes use the end of the heap.
// - Then room for small things, of which the last piece stays taken, so that none of them is put behind the memory of a
//   hash. The pieces before it also fill the gaps that are left in the heap of an earlier thread, or that piece would be
//   in one of these.
// - At its end some that make the freed memory long enough.
const source = `
  const { argon2Sync } = require('node:crypto')
  const { parentPort } = require('node:worker_threads')
  const MEBIBYTE = 1024 * 1024
  const take = (bytes) => Buffer.allocUnsafeSlow(bytes).buffer
  const free = (block) => void block.transfer(0)
  free(take(20 * MEBIBYTE))
  const room = Array.from({ length: 8 }, () => take(MEBIBYTE))
  const guard = room.pop()
  room.forEach(free)
  parentPort.on('message', (message) => {
    if (message === '${END}') {
      [1, 2, 3].map(() => take(15 * MEBIBYTE)).forEach(free)
      free(guard)
      parentPort.close()
      return
    }
    const { id, parameters } = message
    try {
      parentPort.postMessage({ id, tag: argon2Sync('argon2id', parameters) })
    } catch (error) {
      parentPort.postMessage({ id, error })
    }
  })
`

/**
 * One thread that computes all argon2 hashes. In libuv's pool each of the four threads would keep the memory of a hash
 * for good: 80 MiB in all. It starts at the first call, and ends after some quiet. It never keeps the process running,
 * except while a call waits for it.
 */
export function createArgon2Worker({ quietMs = ARGON2_WORKER_QUIET_MS } = {}): Argon2Worker {
  let current: ReturnType<typeof start> | undefined

  return {
    async compute(parameters) {
      current ??= start()
      return current.compute(parameters)
    },
  }

  function start() {
    const worker = startThread()
    const waiting = new Map<number, PromiseWithResolvers<Uint8Array>>()
    const quiet = setTimeout(end, quietMs).unref()
    let lastId = 0

    worker.on('message', (answer: WorkerAnswer) => {
      const call = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('tag' in answer) call?.resolve(answer.tag)
      else call?.reject(answer.error)
      if (waiting.size > 0) return
      worker.unref()
      quiet.refresh()
    })
    // An error is followed by the end. Without a listener it would end the process.
    worker.on('error', (cause) => fail(cause))
    worker.on('exit', () => fail())
    worker.unref()

    const thread = {
      compute(parameters: Argon2Parameters): Promise<Uint8Array> {
        const call = Promise.withResolvers<Uint8Array>()
        lastId += 1
        waiting.set(lastId, call)
        worker.ref()
        worker.postMessage({ id: lastId, parameters })
        return call.promise
      },
    }
    return thread

    function end() {
      if (waiting.size > 0) return
      forget()
      worker.postMessage(END)
    }

    function fail(cause?: unknown) {
      forget()
      for (const { reject } of waiting.values()) reject(endedError(cause))
      waiting.clear()
    }

    function forget() {
      clearTimeout(quiet)
      if (current === thread) current = undefined
    }
  }
}

function startThread(): Worker {
  try {
    return new workerThreads.Worker(source, {
      eval: true,
      name: 'argon2',
      env: {},
      execArgv: [],
      resourceLimits: {
        codeRangeSizeMb: ARGON2_WORKER_CODE_MIB,
        maxOldGenerationSizeMb: ARGON2_WORKER_HEAP_MIB_MAX,
        maxYoungGenerationSizeMb: 1,
        stackSizeMb: 1,
      },
    })
  } catch (cause) {
    throw endedError(cause)
  }
}

function endedError(cause: unknown): OverloadedError {
  return new OverloadedError(
    'Cannot check the password: the thread that checks passwords has ended, probably for lack of memory, threads or open files; try again in a moment',
    { cause },
  )
}
