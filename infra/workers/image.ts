import { join } from 'node:path'
import { Stack } from 'aws-cdk-lib'
import { Platform } from 'aws-cdk-lib/aws-ecr-assets'
import { ContainerImage } from 'aws-cdk-lib/aws-ecs'
import type { Construct } from 'constructs'
import { type DefinitionPlace, writeEntry } from '../bundling/entries.ts'
import { bundle } from '../bundling/esbuild.ts'
import { generatedFile, specifier, writeGenerated } from '../bundling/generated-file.ts'
import { BUNDLE_OPTIONS } from '../bundling/options.ts'
import { runtimeModule } from '../bundling/runtime-module.ts'

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
  definitions: readonly DefinitionPlace[],
): ContainerImage {
  const folder = generatedFile('images', name)
  writeGenerated(join(folder, 'Dockerfile'), DOCKERFILE)
  if (Stack.of(scope).bundlingRequired) {
    const entry = writeWorkerEntry(name, definitions)
    const options = { ...BUNDLE_OPTIONS, entryPoints: [entry], outfile: join(folder, 'index.mjs') }
    for (const { path, contents } of bundle(name, options).files)
      writeGenerated(path, Buffer.from(contents).toString())
  }
  return ContainerImage.fromAsset(folder, { platform: Platform.LINUX_ARM64 })
}

/** Writes the main file of a container that serves the definitions, and returns its absolute path. */
function writeWorkerEntry(name: string, places: readonly DefinitionPlace[]): string {
  return writeEntry(name, entry => [
    `import { serveTasks } from ${specifier(entry, runtimeModule('worker'))}`,
    ...places.map(
      ({ file, exportName }, index) =>
        `import { ${exportName} as task${index} } from ${specifier(entry, file)}`,
    ),
    '',
    `serveTasks([${places.map((_place, index) => `task${index}`).join(', ')}])`,
  ])
}
