import { parts } from '../built.ts'
import { defineCommand } from '../command-line/command.ts'
import { inform } from '../command-line/output.ts'
import { UsageError } from '../errors.ts'
import { buildAssets, built, version, versionLine } from '../version.ts'

export const versionCommand = defineCommand({
  name: 'version',
  summary: 'show the version, and the commit that it was built from',
  examples: [
    ['connbook version', 'the same as connbook --version'],
    ['connbook version --json', 'for scripts, with Node'],
    ['connbook version --sbom > connbook.cdx.json', 'every part inside'],
  ],
  notes: [
    'The commit is unknown (in JSON: null) if the build was made without Git, or from files that are not as they were committed.',
  ],
  flags: ['json', 'sbom'],
  async run({ options: { json, sbom } }, { print }) {
    if (json && sbom) throw new UsageError('Cannot show both --json and --sbom; give one of them')
    await inform(print, sbom ? billOfMaterials() : json ? `${JSON.stringify(described())}\n` : versionLine())
  },
})

/** Its members are part of the interface of connbook: scripts read them. */
function described() {
  return { version, ...built, node: process.version, target: targetOf(process.platform, process.arch) }
}

/** The names of `npm run build -- --target`. */
function targetOf(platform: NodeJS.Platform, arch: string): string {
  return `${platform === 'win32' ? 'win' : platform}-${arch}`
}

function billOfMaterials(): string {
  if (parts !== undefined) return parts.text(buildAssets.sbom)
  throw new UsageError('Cannot show the bill of materials: this runs from source; use dist/connbook')
}
