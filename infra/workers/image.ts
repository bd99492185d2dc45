import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Stack } from 'aws-cdk-lib'
import { Platform } from 'aws-cdk-lib/aws-ecr-assets'
import { ContainerImage } from 'aws-cdk-lib/aws-ecs'
import type { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import { writeContents } from '../bundling/bundling.ts'
import { generatedFile, writeGenerated } from '../bundling/generated-file.ts'
import { isDevelopment, type UserCode, withoutModules, workerContents } from '../bundling/user-code.ts'

/** The main file of a worker in its image. */
const MAIN = 'index.mjs'

/** The image installs nothing: what the bundle needs lies beside it. Because there is no RUN command, any machine can build it. */
const DOCKERFILE = `FROM public.ecr.aws/docker/library/node:24-slim
WORKDIR /worker
COPY . ./
USER node
CMD ["node", "${MAIN}"]
`

const PLATFORMS = { arm64: Platform.LINUX_ARM64, x64: Platform.LINUX_AMD64 } as const

/**
 * Makes the image of a worker: a Dockerfile, the bundle and its modules in one folder. Synthesis writes the folder, and the
 * deployment builds the image. `dockerfile` replaces the Dockerfile.
 *
 * @throws BatonError `invalid` when there is no such Dockerfile, or when it does not start the worker.
 */
export function workerImage(
  scope: Construct,
  code: UserCode,
  dockerfile: string | undefined,
): ContainerImage {
  const folder = generatedFile('images', code.name)
  const text = dockerfile === undefined ? DOCKERFILE : ownDockerfile(code.title, dockerfile)
  writeGenerated(join(folder, 'Dockerfile'), text)
  writeGenerated(join(folder, '.dockerignore'), 'Dockerfile\n.dockerignore\n')
  const makeContents = workerContents(code)
  if (Stack.of(scope).bundlingRequired) {
    // `baton dev` runs the container as a process of this machine, in a folder below the project.
    const contents = isDevelopment(scope) ? withoutModules(makeContents()) : makeContents()
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
    writeContents(folder, contents)
  }
  return ContainerImage.fromAsset(folder, { platform: PLATFORMS[code.cpu] })
}

function ownDockerfile(title: string, dockerfile: string): string {
  const file = resolve(dockerfile)
  if (!existsSync(file)) throw wrong(title, `there is no file ${dockerfile} in ${process.cwd()}`)
  const text = readFileSync(file, 'utf8')
  if (text.includes(MAIN)) return text
  throw wrong(
    title,
    `${dockerfile} must copy the bundle and start it: COPY . ./ and CMD ["node", "${MAIN}"]; its folder holds the bundle and bundling.nodeModules`,
  )
}

function wrong(title: string, problem: string): BatonError {
  return new BatonError('invalid', `${title}: dockerfile: ${problem}`)
}
