import { explain } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { element, setText } from './element.ts'
import { findValue, type Metrics, parseMetrics } from './metrics-figures.ts'
import { ALL_ROUTES, answerTimes, type Figures, figures, routesIn } from './operation-figures.ts'
import { LOOK_MS, OperationRecord, SPAN_MS } from './operation-record.ts'
import { Picture } from './picture.ts'

/** Pictures of how the server does. The record begins when the view is first shown, and goes on behind other views. */
export class Operation implements ViewPart {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #record = new OperationRecord()
  readonly #state = element('span', { role: 'status' })
  readonly #facts = element('span')
  readonly #head = element('p', {}, this.#state, this.#facts)
  readonly #fault = element('p', { class: 'fault', role: 'alert' })
  readonly #hint = element('p', { class: 'faint' }, 'Rates show after the second look, in 5 s.')
  readonly #route = element('select', { id: 'route', change: () => this.#draw() }, new Option(ALL_ROUTES))
  readonly #times = new Map([[ALL_ROUTES, answerTimes(ALL_ROUTES)]])
  readonly #pictures: readonly { readonly picture: Picture; figures(): Figures | undefined }[]
  #looks = 0
  #timer = 0
  #isShown = false

  constructor(app: App) {
    this.#app = app
    const label = element('label', { for: 'route' }, 'Route ')
    const times = new Picture('Time to answer', element('p', { class: 'route' }, label, this.#route))
    this.#pictures = [
      ...figures.slice(0, 1).map(pictureOf),
      { picture: times, figures: () => this.#times.get(this.#route.value) },
      ...figures.slice(1).map(pictureOf),
    ]
    for (const kept of [...figures, ...this.#times.values()]) this.#record.keep(kept)
    this.dom = element(
      'section',
      { 'aria-label': 'Status' },
      element('h2', {}, 'Status'),
      this.#head,
      this.#fault,
      this.#hint,
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

  /** Looks once, and again in LOOK_MS; nobody sees a hidden page. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer)
    this.#looks += 1
    const looks = this.#looks
    try {
      const [metrics, ready] = await Promise.all([
        this.#app.api.call('metrics'),
        this.#app.api.call('readyz', { expects: [503] }),
      ])
      if (looks !== this.#looks) return
      const samples = parseMetrics(metrics.text)
      this.#addRoutes(samples)
      this.#record.take(Date.now(), samples)
      setText(this.#fault, '')
      this.#showHead(samples, ready.status === 200)
    } catch (error) {
      if (looks !== this.#looks) return
      this.#record.take(Date.now(), undefined)
      setText(this.#fault, explain(error))
    }
    this.#hint.hidden = looks > 1
    if (!document.hidden) this.#timer = setTimeout(() => void this.#look(), LOOK_MS)
    if (this.#isShown) this.#draw()
  }

  #draw() {
    const now = Date.now()
    for (const { picture, figures } of this.#pictures) {
      const drawn = figures()
      if (drawn === undefined) continue
      const { unit, lines } = drawn
      picture.update({ unit, lines, moments: this.#record.moments(drawn), now, spanMs: SPAN_MS })
    }
  }

  #showHead(metrics: Metrics, isReady: boolean) {
    const build = metrics.find(({ name }) => name === 'connbook_build_info')
    const began = findValue(metrics, 'process_start_time_seconds')
    const isWritable = findValue(metrics, 'connbook_writable') === 1
    const state = `${isReady ? 'Ready' : 'Not ready'} · ${isWritable ? 'takes changes' : 'takes no changes'}`
    setText(this.#state, state)
    const age = began === undefined ? '' : ` · up for ${formatDuration(Date.now() / 1_000 - began)}`
    this.#facts.textContent = ` · version ${build?.labels.version ?? '?'}${age}`
    this.#head.classList.toggle('fault', !isReady || !isWritable)
  }

  #addRoutes(metrics: Metrics) {
    for (const route of routesIn(metrics)) {
      if (this.#times.has(route)) continue
      const times = answerTimes(route)
      this.#times.set(route, times)
      this.#record.keep(times)
      this.#route.append(new Option(route))
    }
  }
}

function pictureOf(figures: Figures) {
  return { picture: new Picture(figures.title), figures: () => figures }
}

/** In its two largest units: `3 d 4 h`. */
function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
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
