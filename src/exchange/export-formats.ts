import { ansibleFormat } from './ansible-format.ts'
import { ansibleJsonFormat } from './ansible-json-format.ts'
import { csvFormat } from './csv-rows.ts'
import { envFormat } from './env-format.ts'
import type { ExportFormat } from './export-format.ts'
import { hostsFormat } from './hosts-format.ts'
import { jsonFormat, jsonlFormat } from './json-format.ts'
import { pgServiceFormat } from './pg-service-format.ts'
import { prometheusFormat } from './prometheus-format.ts'
import { sshConfigFormat } from './ssh-config-format.ts'

export const exportFormats = {
  json: jsonFormat,
  jsonl: jsonlFormat,
  csv: csvFormat,
  'ssh-config': sshConfigFormat,
  ansible: ansibleFormat,
  'ansible-json': ansibleJsonFormat,
  'pg-service': pgServiceFormat,
  'prometheus-sd': prometheusFormat,
  hosts: hostsFormat,
  env: envFormat,
} satisfies Record<string, ExportFormat>

export type ExportFormatName = keyof typeof exportFormats

export const exportFormatNames = Object.keys(exportFormats) as ExportFormatName[]
