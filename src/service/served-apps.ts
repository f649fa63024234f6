import { createStartingRoutes } from '../resources/routes.ts'
import { type App, createStartingApp, STILL_READING } from '../server/app.ts'
import type { ServerOptions } from './server-options.ts'

/** A longer start is logged, and requests are answered at once instead of waiting for its end. */
export const LONG_START_MS = 1_000

/** What answers everybody, and what answers on the owner's socket, where URLs have no base path. */
export interface Apps {
  readonly all: App
  readonly owner: App
}

/**
 * The applications of a service. Until `replace`, only the routes that need no records answer, and other requests wait;
 * after LONG_START_MS they are answered 503.
 */
export class ServedApps {
  readonly #replaced = Promise.withResolvers<Apps | undefined>()
  #now: Apps
  #notice: NodeJS.Timeout | undefined

  constructor(options: ServerOptions) {
    this.#now = createStartingApps(options, this.#replaced.promise)
  }

  get now(): Apps {
    return this.#now
  }

  /** Begins the time that requests may wait; calls `onEnd` at its end, unless `replace` or `close` comes first. */
  limitWaiting(onEnd: () => void): void {
    this.#notice = setTimeout(() => {
      onEnd()
      this.#replaced.resolve(undefined)
    }, LONG_START_MS)
  }

  /** From now on these answer, also the requests that wait. */
  replace(apps: Apps): void {
    this.close()
    this.#now = apps
    this.#replaced.resolve(apps)
  }

  close(): void {
    clearTimeout(this.#notice)
  }
}

function createStartingApps({ basePath, noConsole }: ServerOptions, next: Promise<Apps | undefined>): Apps {
  const whyNotReady = () => STILL_READING
  const parts = { basePath, whyNotReady, whyNotReadable: whyNotReady }
  const { all, owner, redirect } = createStartingRoutes(parts, { noConsole })
  return {
    all: createStartingApp(
      all,
      basePath,
      next.then((apps) => apps?.all),
      redirect,
    ),
    owner: createStartingApp(
      owner,
      '',
      next.then((apps) => apps?.owner),
    ),
  }
}
