import { type Labels, labelOf, variableOfKey } from '../store/labels.ts'
import type { ExportFormat } from './export-format.ts'
import { lookupAddressWithPort } from './lookup-address.ts'

/**
 * What `http_sd_configs` and `file_sd_configs` of Prometheus read
 * (https://prometheus.io/docs/prometheus/latest/http_sd/). One odd label makes Prometheus refuse the whole list.
 */
export const prometheusFormat: ExportFormat = {
  mediaType: 'application/json',
  fileName: 'targets.json',
  start: '[',
  between: ',',
  end: ']\n',
  encode: (record) =>
    JSON.stringify({
      targets: [lookupAddressWithPort(record.hostname, record.port)],
      labels: Object.fromEntries([['__meta_connbook_name', record.name], ...metaLabelsOf(record)]),
    }),
  obstacle(record) {
    if (record.hostname.includes('%')) return 'has an address with a zone, which Prometheus cannot connect to'
    const names = metaLabelsOf(record).map(([name]) => name)
    return new Set(names).size < names.length
      ? 'has labels that would be the same label to Prometheus'
      : undefined
  },
}

function metaLabelsOf({ labels = {} }: { readonly labels?: Labels }): [name: string, value: string][] {
  return Object.keys(labels).map((key) => [
    `__meta_connbook_label_${variableOfKey(key)}`,
    labelOf(labels, key) ?? '',
  ])
}
