/** What a figure counts. */
export type Unit = 'seconds' | 'bytes' | 'count' | 'per second'

const steps: Readonly<Record<Unit, readonly (readonly [least: number, name: string])[]>> = {
  seconds: [
    [1, ' s'],
    [1e-3, ' ms'],
    [1e-6, ' µs'],
  ],
  bytes: [
    [2 ** 30, ' GiB'],
    [2 ** 20, ' MiB'],
    [2 ** 10, ' KiB'],
    [1, ' B'],
  ],
  count: [[1, '']],
  'per second': [[1, '/s']],
}

const digits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** A figure with its unit, to three digits: `1.23 ms`, `64 MiB`; `–` for none. */
export function formatFigure(value: number | undefined, unit: Unit): string {
  if (value === undefined || !Number.isFinite(value)) return '–'
  const choices = steps[unit]
  const [size, name] = choices.find(([least]) => Math.abs(value) >= least) ?? choices.at(-1) ?? [1, '']
  const isWhole = unit === 'count' && Math.abs(value) < 1e15
  return (isWhole ? grouped(value) : digits.format(value / size)) + name
}

/**
 * Round values for an axis from 0 to at least `max`: three to six of them, a step of 1, 2 or 5 times a power of ten, for
 * bytes of two.
 */
export function axisTicks(max: number, unit: Unit): readonly number[] {
  if (max === 0) return [0, unit === 'seconds' ? 1e-3 : 1]
  const rough = unit === 'count' ? Math.max(max / 4, 1) : max / 4
  const step = unit === 'bytes' ? 2 ** Math.ceil(Math.log2(rough)) : niceStep(rough)
  const count = Math.max(1, Math.ceil(max / step))
  return Array.from({ length: count + 1 }, (_, place) => place * step)
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5].find((each) => each * power >= rough * (1 - 1e-9)) ?? 10
  return factor * power
}

/** "12,345". */
export function grouped(count: number): string {
  return count.toLocaleString('en')
}

/** "1 record", "12,345 records". */
export function recordCount(count: number): string {
  return `${grouped(count)} ${count === 1 ? 'record' : 'records'}`
}
