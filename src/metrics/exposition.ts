import type { Family, Histogram, MetricLabels, Sample, Summary } from './family.ts'

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Samples metrics and formats them in the text format of Prometheus, version 0.0.4; its type is METRICS_TYPE. */
export function formatMetrics(families: readonly Family[]): string {
  return families
    .map((family) => {
      const { name, help, type } = family
      return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${formatSamples(family)}`
    })
    .join('')
}

function formatSamples(family: Family): string {
  const { name } = family
  let text = ''
  if (family.type === 'histogram')
    for (const sample of family.samples()) text += formatHistogram(name, sample)
  else if (family.type === 'summary')
    for (const sample of family.samples()) text += formatSummary(name, sample)
  else for (const { labels = {}, value } of family.samples()) text += formatLine(name, labels, value)
  return text
}

function formatHistogram(name: string, { labels = {}, value: histogram }: Sample<Histogram>): string {
  const buckets = histogram
    .cumulative()
    .map(({ bound, count }) => formatLine(`${name}_bucket`, { ...labels, le: formatNumber(bound) }, count))
  return buckets.join('') + formatTotals(name, labels, histogram)
}

function formatSummary(name: string, { labels = {}, value: summary }: Sample<Summary>): string {
  const quantiles = summary.quantiles.map(([quantile, value]) =>
    formatLine(name, { ...labels, quantile: formatNumber(quantile) }, value),
  )
  return quantiles.join('') + formatTotals(name, labels, summary)
}

function formatTotals(
  name: string,
  labels: MetricLabels,
  { sum, count }: { sum: number; count: number },
): string {
  return formatLine(`${name}_sum`, labels, sum) + formatLine(`${name}_count`, labels, count)
}

function formatLine(name: string, labels: MetricLabels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${formatNumber(value)}\n`
}

function formatNumber(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
