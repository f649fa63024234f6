import { explain } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { element, setText } from './element.ts'
import { formatFigure } from './figure-text.ts'
import { Picture } from './picture.ts'
import {
  ALL_ROUTES,
  answerTimes,
  type Figures,
  figures,
  joinMoments,
  pointsOf,
  routesIn,
  type ServerMoment,
  type ServerStatus,
  SPAN_MS,
} from './status-figures.ts'

/** How often the server is asked once the view was shown, also behind other views. */
const LOOK_MS = 10_000

/** How the server does, and pictures of how it did. */
export class StatusView implements ViewPart {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #state = element('span', { role: 'status' })
  readonly #facts = element('span')
  readonly #head = element('p', {}, this.#state, this.#facts)
  readonly #fault = element('p', { class: 'fault', role: 'alert' })
  readonly #route = element('select', { id: 'route', change: () => this.#draw() }, new Option(ALL_ROUTES))
  readonly #pictures: readonly { readonly picture: Picture; figures(): Figures }[]
  #moments: readonly ServerMoment[] = []
  #momentMs = LOOK_MS
  #looks = 0
  #timer = 0
  #isShown = false

  constructor(app: App) {
    this.#app = app
    const label = element('label', { for: 'route' }, 'Route ')
    const times = new Picture('Time to answer', element('p', { class: 'route' }, label, this.#route))
    const [requests, ...others] = figures.map((each) => ({
      picture: new Picture(each.title),
      figures: () => each,
    }))
    this.#pictures = [
      ...(requests === undefined ? [] : [requests]),
      { picture: times, figures: () => answerTimes(this.#route.value) },
      ...others,
    ]
    this.dom = element(
      'section',
      { 'aria-label': 'Status' },
      element('h2', {}, 'Status'),
      this.#head,
      this.#fault,
      element('div', { class: 'pictures' }, ...this.#pictures.map(({ picture }) => picture.dom)),
    )
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && this.#looks > 0) void this.#look()
    })
  }

  show(): void {
    this.#isShown = true
    if (this.#looks === 0) void this.#look()
    else this.#draw()
  }

  hide(): void {
    this.#isShown = false
  }

  /** Asks once, and again in LOOK_MS; nobody sees a hidden page. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer)
    this.#looks += 1
    const looks = this.#looks
    try {
      const { text } = await this.#app.api.call('v1/status')
      if (looks !== this.#looks) return
      const status: ServerStatus = JSON.parse(text)
      this.#moments = joinMoments(this.#moments, status)
      this.#momentMs = status.moment_seconds * 1_000
      setText(this.#fault, '')
      this.#showHead(status)
      this.#addRoutes()
    } catch (error) {
      if (looks !== this.#looks) return
      setText(this.#fault, explain(error))
    }
    if (!document.hidden) this.#timer = setTimeout(() => void this.#look(), LOOK_MS)
    if (this.#isShown) this.#draw()
  }

  #draw() {
    // The clock of the server: that of the browser may be another.
    const now = Date.parse(this.#moments.at(-1)?.time ?? '') || 0
    for (const { picture, figures } of this.#pictures) {
      const { unit, lines, read } = figures()
      const moments = pointsOf({ read }, this.#moments, this.#momentMs)
      picture.update({ unit, lines, moments, now, spanMs: SPAN_MS })
    }
  }

  #showHead({ ready, writable, version, started, ...more }: ServerStatus) {
    const now = Date.parse(more.moments.at(-1)?.time ?? started)
    const state = `${ready ? 'Ready' : 'Not ready'} · ${writable ? 'takes changes' : 'takes no changes'}`
    setText(this.#state, state)
    const facts = [
      `version ${version}`,
      `up for ${formatDuration(now - Date.parse(started))}`,
      ...(more.disk_free_bytes === undefined
        ? []
        : [`${formatFigure(more.disk_free_bytes, 'bytes')} free on the disk`]),
      more.last_backup === undefined
        ? 'no backup yet'
        : `last backup ${formatDuration(now - Date.parse(more.last_backup))} ago`,
      ...(more.certificate_end === undefined
        ? []
        : [`certificate until ${more.certificate_end.slice(0, 10)}`]),
    ]
    this.#facts.textContent = facts.map((fact) => ` · ${fact}`).join('')
    this.#head.classList.toggle('fault', !ready || !writable)
  }

  #addRoutes() {
    const known = Array.from(this.#route.options, ({ value }) => value)
    for (const route of routesIn(this.#moments))
      if (!known.includes(route)) this.#route.append(new Option(route))
  }
}

/** In its two largest units: `3 d 4 h`. */
function formatDuration(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / 1_000))
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first === -1 ? 3 : first)
    .slice(0, 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
