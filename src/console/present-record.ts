import type { Api } from './api.ts'
import { readConfiguration, type Tagged } from './configuration.ts'

/** A record as the server has it now: read once, and again after it has changed. */
export class PresentRecord {
  readonly #api: Api
  #name: string
  #reading: Promise<Tagged> | undefined

  constructor(api: Api, name: string) {
    this.#api = api
    this.#name = name
  }

  get name(): string {
    return this.#name
  }

  /** @throws As `Api.call`; the next call tries again. */
  read(): Promise<Tagged> {
    const reading = this.#reading ?? readConfiguration(this.#api, this.#name)
    this.#reading = reading
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  /** Has it read again: it has changed, and perhaps has another name. */
  forget(name = this.#name): void {
    this.#name = name
    this.#reading = undefined
  }
}
