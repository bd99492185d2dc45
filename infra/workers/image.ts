import { join } from 'node:path'
import { Stack } from 'aws-cdk-lib'
import { Platform } from 'aws-cdk-lib/aws-ecr-assets'
import { ContainerImage } from 'aws-cdk-lib/aws-ecs'
import type { Construct } from 'constructs'
import { buildSync } from 'esbuild'
import { IMAGE_BUNDLING } from '../functions/bundling.ts'
import { functionFile } from '../functions/function-file.ts'
import { generatedFile, specifier, writeGenerated } from '../functions/generated-file.ts'
import type { FoundDefinition } from '../types/definition.ts'

/** The image installs nothing, since the bundle needs Node alone. Because there is no RUN command, any machine can build it. */
const DOCKERFILE = `FROM public.ecr.aws/docker/library/node:24-slim
WORKDIR /worker
COPY index.mjs index.mjs.map ./
USER node
CMD ["node", "index.mjs"]
`

/**
 * Makes the image of a worker that serves `definitions`: a Dockerfile beside one bundle. Synthesis writes the bundle, and the
 * deployment builds the image.
 */
export function workerImage(
  scope: Construct,
  name: string,
  definitions: readonly FoundDefinition[],
): ContainerImage {
  const folder = generatedFile('images', name)
  writeGenerated(join(folder, 'Dockerfile'), DOCKERFILE)
  if (Stack.of(scope).bundlingRequired) {
    const entry = writeWorkerEntry(name, definitions)
    const options = { ...IMAGE_BUNDLING, entryPoints: [entry], outfile: join(folder, 'index.mjs') }
    const { outputFiles } = buildSync({ ...options, write: false })
    for (const { path, text } of outputFiles) writeGenerated(path, text)
  }
  return ContainerImage.fromAsset(folder, { platform: Platform.LINUX_ARM64 })
}

function writeWorkerEntry(name: string, definitions: readonly FoundDefinition[]): string {
  const entry = generatedFile('entries', `${name}.ts`)
  const names = definitions.map((_definition, index) => `task${index}`)
  const lines = [
    '// Generated at synthesis; do not edit.',
    `import { serveTasks } from ${specifier(entry, functionFile('worker.ts'))}`,
    ...definitions.map(
      ({ file, exportName }, index) =>
        `import { ${exportName} as ${names[index]} } from ${specifier(entry, file)}`,
    ),
    '',
    `serveTasks([${names.join(', ')}])`,
    '',
  ]
  writeGenerated(entry, lines.join('\n'))
  return entry
}
