import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * An emulator of AWS that is not ours: `ministack` from PyPI. It evaluates CloudFormation templates, and runs DynamoDB with streams, SQS,
 * Lambda, EventBridge Scheduler and API Gateway in one process, without a network.
 */

const VERSION = '1.5.33'
const REGION = 'us-east-1'
const START_MS = 60_000
const POLL_MS = 250

export type Emulator = {
  readonly url: string
  /** Creates the stack of an assembly, and returns its outputs and the number of its resources. */
  deploy(assembly: string, stack: string): Promise<Deployed>
  /** What the emulator has printed. */
  log(): string
  stop(): Promise<void>
}

export type Deployed = { readonly outputs: Readonly<Record<string, string>>; readonly resources: number }

/** Installs the emulator and starts it on a free port of the loopback. Returns why it cannot, in one line, where Python is missing. */
export async function startEmulator(): Promise<Emulator | string> {
  const folder = mkdtempSync(join(tmpdir(), 'emulator-'))
  const problem = install(folder)
  if (problem !== undefined) {
    rmSync(folder, { recursive: true, force: true })
    return problem
  }
  const port = await freePort()
  const child = spawn(join(folder, 'venv/bin/python'), ['-m', 'ministack'], {
    cwd: folder,
    // The group ends with its leader, and so do the processes of its functions.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environmentOf(folder, port),
  })
  const printed: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => printed.push(String(chunk)))
  const url = `http://127.0.0.1:${port}`
  const emulator: Emulator = {
    url,
    deploy: (assembly, stack) => deploy(url, folder, assembly, stack),
    log: () => printed.join(''),
    stop: () => stop(child, folder),
  }
  try {
    await until('the emulator', START_MS, async () => {
      if (child.exitCode !== null) throw new Error(`the emulator has ended:\n${emulator.log()}`)
      return (await fetch(`${url}/_ministack/health`).catch(() => undefined))?.ok
    })
  } catch (error) {
    await emulator.stop()
    throw error
  }
  return emulator
}

function install(folder: string): string | undefined {
  if (spawnSync('python3', ['-m', 'venv', join(folder, 'venv')], { stdio: 'ignore' }).status !== 0)
    return 'python3 with venv is not installed'
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `ministack==${VERSION}`]
  const { status, stderr } = spawnSync(join(folder, 'venv/bin/python'), pip, { encoding: 'utf8' })
  return status === 0
    ? undefined
    : `pip cannot install ministack ${VERSION}: ${stderr.trim().split('\n').at(-1)}`
}

/** Functions run on the Node of this repository, which is Lambda's. Everything that they write stays in the folder. */
function environmentOf(folder: string, port: number): NodeJS.ProcessEnv {
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  return {
    PATH: [resolve('node_modules/.bin'), process.env.PATH].join(':'),
    HOME: folder,
    TMPDIR: temporary,
    GATEWAY_PORT: String(port),
    BIND_HOST: '127.0.0.1',
    MINISTACK_HOST: '127.0.0.1',
    MINISTACK_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    LAMBDA_EXECUTOR: 'local',
    PYTHONUNBUFFERED: '1',
  }
}

async function stop(child: ChildProcess, folder: string): Promise<void> {
  const { pid } = child
  if (pid !== undefined && child.exitCode === null) {
    const ended = once(child, 'exit')
    process.kill(-pid, 'SIGTERM')
    await Promise.race([ended, sleep(5_000)])
  }
  // Functions may outlive their parent for a moment.
  if (pid !== undefined) killGroup(pid)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

type Assets = {
  readonly files: Readonly<
    Record<
      string,
      {
        readonly source: { readonly path: string; readonly packaging: 'file' | 'zip' }
        readonly destinations: Readonly<Record<string, { bucketName: string; objectKey: string }>>
      }
    >
  >
}

async function deploy(url: string, folder: string, assembly: string, stack: string): Promise<Deployed> {
  const read = (name: string) => JSON.parse(readFileSync(join(assembly, name), 'utf8'))
  const published = await publishAssets(url, folder, assembly, read(`${stack}.assets.json`) as Assets)
  await call(url, 'ssm', { target: 'AmazonSSM.PutParameter', body: BOOTSTRAP_VERSION })
  const TemplateURL = published.get(`${stack}.template.json`) ?? ''
  const created = {
    Action: 'CreateStack',
    StackName: stack,
    TemplateURL,
    'Capabilities.member.1': 'CAPABILITY_IAM',
  }
  await call(url, 'cloudformation', { form: created })
  const described = await until('the stack', 300_000, async () => {
    const answer = await call(url, 'cloudformation', { form: { Action: 'DescribeStacks', StackName: stack } })
    const [status] = textsIn(answer, 'StackStatus')
    if (status !== 'CREATE_IN_PROGRESS') return answer
  })
  const events = await call(url, 'cloudformation', {
    form: { Action: 'DescribeStackEvents', StackName: stack },
  })
  if (textsIn(described, 'StackStatus')[0] !== 'CREATE_COMPLETE')
    throw new Error(`the stack was not created: ${textsIn(events, 'ResourceStatusReason').join('\n')}`)
  const list = await call(url, 'cloudformation', { form: { Action: 'ListStackResources', StackName: stack } })
  const values = textsIn(described, 'OutputValue')
  const outputs = Object.fromEntries(
    textsIn(described, 'OutputKey').map((key, nth) => [key, values[nth] ?? '']),
  )
  return { outputs, resources: textsIn(list, 'LogicalResourceId').length }
}

const BOOTSTRAP_VERSION = JSON.stringify({
  ...{ Name: '/cdk-bootstrap/hnb659fds/version', Value: '21', Type: 'String', Overwrite: true },
})

/** Puts the assets into their buckets, as `cdk deploy` does; returns their addresses by their paths in the assembly. */
async function publishAssets(
  url: string,
  folder: string,
  assembly: string,
  { files }: Assets,
): Promise<Map<string, string>> {
  const addresses = new Map<string, string>()
  for (const [hash, { source, destinations }] of Object.entries(files)) {
    const path = join(assembly, source.path)
    const file = source.packaging === 'zip' ? zip(folder, hash, path) : path
    for (const { bucketName, objectKey } of Object.values(destinations)) {
      const bucket = `${url}/${named(bucketName)}`
      await put(bucket)
      await put(`${bucket}/${named(objectKey)}`, readFileSync(file))
      addresses.set(source.path, `${bucket}/${named(objectKey)}`)
    }
  }
  return addresses
}

function named(text: string): string {
  return text.replace(/\$\{AWS::AccountId\}/g, '000000000000').replace(/\$\{AWS::Region\}/g, REGION)
}

function zip(folder: string, name: string, path: string): string {
  const program = 'import shutil,sys; shutil.make_archive(sys.argv[1], "zip", sys.argv[2])'
  const target = join(folder, name)
  const { status, stderr } = spawnSync(join(folder, 'venv/bin/python'), [
    '-c',
    program,
    target,
    resolve(path),
  ])
  if (status !== 0) throw new Error(`${path} cannot be zipped: ${stderr}`)
  return `${target}.zip`
}

async function put(url: string, body?: Buffer): Promise<void> {
  const { ok, status } = await fetch(url, {
    method: 'PUT',
    headers: headersFor('s3'),
    ...(body && { body: new Uint8Array(body) }),
  })
  if (!ok && status !== 409) throw new Error(`PUT ${url} answered ${status}`)
}

type Request = {
  readonly form?: Readonly<Record<string, string>>
  readonly target?: string
  readonly body?: string
}

async function call(url: string, service: string, { form, target, body }: Request): Promise<string> {
  const type = form ? 'application/x-www-form-urlencoded' : 'application/x-amz-json-1.1'
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headersFor(service), 'content-type': type, ...(target && { 'x-amz-target': target }) },
    body: form ? new URLSearchParams(form).toString() : (body ?? ''),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${service} answered ${answer.status}: ${text.slice(0, 2_000)}`)
  return text
}

/** The emulator recognises a service by the scope of the signature, which it does not check. */
function headersFor(service: string): Record<string, string> {
  const scope = `test/20261123/${REGION}/${service}/aws4_request`
  return { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0` }
}

function textsIn(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, text = '']) => text)
}

/** Waits until `done` returns a value. */
export async function until<Value>(
  what: string,
  patienceMs: number,
  done: () => Promise<Value | undefined | false>,
): Promise<Value> {
  const deadline = Date.now() + patienceMs
  while (Date.now() < deadline) {
    const value = await done()
    if (value !== undefined && value !== false) return value
    await sleep(POLL_MS)
  }
  throw new Error(`${what} did not come within ${patienceMs} ms`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
