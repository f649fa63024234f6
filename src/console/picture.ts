import { element, headRow, setText, svgElement } from './element.ts'
import { axisTicks, formatFigure, type Unit } from './figure-text.ts'

/** The values of one moment, by line; undefined where nothing was measured. */
export interface PlottedMoment {
  /** In ms since 1970. */
  readonly at: number
  readonly values: Readonly<Record<string, number | undefined>>
}

export interface PictureState {
  readonly unit: Unit
  /** Their names, in the order of the legend; four at most look different. */
  readonly lines: readonly string[]
  /** Oldest first. */
  readonly moments: readonly PlottedMoment[]
  /** The right edge. */
  readonly now: number
  /** From the left edge to the right one. */
  readonly spanMs: number
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [360, 150, 58, 20, 8, 8]
/** Lines differ by their dashes, too: not everybody sees colours. */
const dashes = ['', '6 3', '2 3', '9 3 2 3']
const MINUTE_MS = 60_000

/** A picture of lines over time. Pointer and arrow keys show the values of a moment. */
export class Picture {
  readonly dom: HTMLElement
  readonly #svg = svgElement('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' })
  readonly #pointer = svgElement('line', { class: 'pointer', y1: TOP, y2: HEIGHT - BOTTOM })
  readonly #legend = element('ul', { class: 'legend' })
  readonly #reading = element('p', { class: 'reading', 'aria-live': 'polite' })
  readonly #table = element('tbody')
  #state: PictureState | undefined
  /** Index of the moment that is pointed at; undefined for the latest. */
  #place: number | undefined

  constructor(title: string, extra?: HTMLElement) {
    const field = element(
      'div',
      {
        class: 'field-of-lines',
        tabindex: 0,
        role: 'group',
        'aria-label': `${title}: arrow keys go from moment to moment`,
        pointermove: (event) => this.#pointAt(event as PointerEvent),
        pointerleave: () => this.#point(undefined),
        blur: () => this.#point(undefined),
        keydown: (event) => this.#step(event as KeyboardEvent),
      },
      this.#svg,
    )
    this.dom = element(
      'section',
      { class: 'picture', 'aria-label': title },
      element('h3', {}, title),
      extra,
      field,
      this.#legend,
      this.#reading,
      element(
        'details',
        {},
        element('summary', {}, 'Table'),
        element(
          'table',
          {},
          element('caption', { class: 'unseen' }, title),
          headRow('Line', 'Latest', 'Lowest', 'Highest'),
          this.#table,
        ),
      ),
    )
  }

  update(state: PictureState): void {
    this.#state = state
    if (this.#place !== undefined && this.#place >= state.moments.length) this.#place = undefined
    this.#draw(state)
    this.#showValues(state)
    this.#fillTable(state)
  }

  #draw({ unit, lines, moments, now, spanMs }: PictureState) {
    const values = moments.flatMap((moment) => lines.map((line) => moment.values[line] ?? 0))
    const ticks = axisTicks(Math.max(0, ...values), unit)
    const top = ticks.at(-1) ?? 1
    const x = (at: number) => LEFT + ((at - now + spanMs) / spanMs) * (WIDTH - LEFT - RIGHT)
    const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP)
    const grid = ticks.flatMap((tick) => [
      svgElement('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
      svgElement('text', { x: LEFT - 5, y: y(tick) + 3.5, 'text-anchor': 'end' }, formatFigure(tick, unit)),
    ])
    const minutes = [15, 10, 5, 0].filter((ago) => ago * MINUTE_MS <= spanMs)
    const times = minutes.map((ago) =>
      svgElement(
        'text',
        { x: x(now - ago * MINUTE_MS), y: HEIGHT - 5, 'text-anchor': ago === 0 ? 'end' : 'middle' },
        ago === 0 ? 'now' : `−${ago} min`,
      ),
    )
    const paths = lines.map((line, place) =>
      drawn(
        place,
        pathOf(
          moments.map(({ at, values }) => [x(at), values[line] === undefined ? undefined : y(values[line])]),
        ),
      ),
    )
    const pointed = this.#place === undefined ? undefined : moments[this.#place]
    this.#pointer.toggleAttribute('hidden', pointed === undefined)
    for (const side of ['x1', 'x2'])
      this.#pointer.setAttribute(side, String(pointed === undefined ? LEFT : x(pointed.at)))
    this.#svg.replaceChildren(...grid, ...times, ...paths, ...(pointed === undefined ? [] : [this.#pointer]))
  }

  #showValues({ unit, lines, moments }: PictureState) {
    const moment = this.#place === undefined ? moments.at(-1) : moments[this.#place]
    this.#legend.replaceChildren(
      ...lines.map((line, place) => {
        const box = { viewBox: '0 0 26 10', class: 'key', 'aria-hidden': 'true' }
        const key = svgElement('svg', box, drawn(place, 'M0 5H26'))
        return element('li', {}, key, `${line} `, element('b', {}, formatFigure(moment?.values[line], unit)))
      }),
    )
    const isPointed = this.#place !== undefined && moment !== undefined
    const said = lines.map((line) => `${line} ${formatFigure(moment?.values[line], unit)}`).join(', ')
    const text = isPointed ? `${new Date(moment.at).toLocaleTimeString('en-GB')}: ${said}` : ''
    setText(this.#reading, text)
  }

  #fillTable({ unit, lines, moments }: PictureState) {
    this.#table.replaceChildren(
      ...lines.map((line) => {
        const values = moments.map((moment) => moment.values[line]).filter((value) => value !== undefined)
        const [least, most] = values.length === 0 ? [] : [Math.min(...values), Math.max(...values)]
        const cells = [moments.at(-1)?.values[line], least, most]
        return element(
          'tr',
          {},
          element('th', { scope: 'row' }, line),
          ...cells.map((value) => element('td', {}, formatFigure(value, unit))),
        )
      }),
    )
  }

  #pointAt({ clientX }: PointerEvent) {
    const { moments = [], now = 0, spanMs = 1 } = this.#state ?? {}
    const { left, width } = this.#svg.getBoundingClientRect()
    const within = (((clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT)
    const at = now - spanMs + within * spanMs
    const distances = moments.map((moment) => Math.abs(moment.at - at))
    this.#point(distances.length === 0 ? undefined : distances.indexOf(Math.min(...distances)))
  }

  #step(event: KeyboardEvent) {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    const last = (this.#state?.moments.length ?? 0) - 1
    if (by === 0 || last < 0) return
    event.preventDefault()
    this.#point(Math.min(last, Math.max(0, (this.#place ?? last + 1) + by)))
  }

  #point(place: number | undefined) {
    this.#place = place
    if (this.#state !== undefined) this.update(this.#state)
  }
}

/** A line in the look of its place. */
function drawn(place: number, d: string): SVGPathElement {
  const look = place % dashes.length
  return svgElement('path', { class: `line line-${look}`, 'stroke-dasharray': dashes[look], d })
}

/** A new line begins after each gap. */
function pathOf(points: readonly (readonly [x: number, y: number | undefined])[]): string {
  let path = ''
  let isDown = false
  for (const [x, y] of points) {
    if (y !== undefined) path += `${isDown ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`
    isDown = y !== undefined
  }
  return path
}
