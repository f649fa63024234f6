import assert from 'node:assert/strict'

/** Samples by name and labels as written: `name{label="value"}`. */
export class Samples {
  readonly #values = new Map<string, number>()

  /** @param text In Prometheus' text format, as strictly as tests need it. */
  constructor(text: string) {
    assert.ok(text.endsWith('\n'))
    for (const line of text.split('\n').slice(0, -1)) {
      if (line.startsWith('# HELP ') || line.startsWith('# TYPE ')) continue
      const [, series = '', value] =
        /^([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\]|\\["\\n])*",?)+\})?) (\S+)$/.exec(line) ?? []
      assert.ok(value !== undefined, `no sample: ${line}`)
      assert.ok(!this.#values.has(series), `twice: ${series}`)
      this.#values.set(series, Number(value.replace('Inf', 'Infinity')))
    }
  }

  /** Undefined when there is no such sample. */
  get(series: string): number | undefined {
    return this.#values.get(series)
  }

  /** All samples with exactly this name and any labels. */
  of(name: string): Record<string, number> {
    const entries = [...this.#values].filter(([series]) => series === name || series.startsWith(`${name}{`))
    return Object.fromEntries(entries.map(([series, value]) => [series.slice(name.length), value]))
  }
}
