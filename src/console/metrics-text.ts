/** One line of the text format of Prometheus. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? ([+-]?Inf|NaN|[\d.eE+-]+)$/
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g

/**
 * Reads the text format of Prometheus, version 0.0.4; skips lines that are not samples.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function parseMetrics(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = LINE.exec(line) ?? []
    if (name === undefined) return []
    const pairs = [...labels.matchAll(LABEL)].map(([, key = '', escaped = '']) => [key, plainText(escaped)])
    return [{ name, labels: Object.fromEntries(pairs), value: parseNumber(value) }]
  })
}

function plainText(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
}

function parseNumber(text: string): number {
  return text.endsWith('Inf') ? Number(`${text}inity`) : Number(text)
}
