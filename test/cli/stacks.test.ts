import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkSignature, type FindCredentials } from '../../local/http/signature.ts'
import { aCloudFormation, type FakeCloudFormation, systemOutputs } from '../support/cli/a-cloudformation.ts'
import { runOn } from '../support/cli/a-terminal.ts'
import { anApi, type TestApi } from '../support/http/an-api.ts'

/** `--stack`, `--profile` and `--region`: a fake CloudFormation, and an API that demands signatures as API Gateway does. */

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const TEMPORARY = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'secret', sessionToken: 'IQoJ//+token==' }
const known: FindCredentials = id => [KEYS, TEMPORARY].find(({ accessKeyId }) => accessKeyId === id)

let api: TestApi
let apiUrl: string
/** The signers of the calls that the API has got. */
let signers: string[]
let cloudFormation: FakeCloudFormation

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const signature = checkSignature(request, body, known, Date.now())
  if (signature.kind !== 'valid') return void response.writeHead(403).end('{"message":"Forbidden"}')
  signers.push(signature.accessKeyId)
  const { method = 'GET', url = '/', headers } = request
  const asked = new Request(apiUrl + url, {
    method,
    headers: { 'content-type': headers['content-type'] ?? 'text/plain' },
    ...(body.length > 0 && { body }),
  })
  const answer = await api.app.request(asked)
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
})

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  cloudFormation = await aCloudFormation(known)
  cloudFormation.stacks.Shop = { outputs: { Unrelated: 'a < b & c', ...systemOutputs('Shop', `${apiUrl}/`) } }
  cloudFormation.stacks.Two = {
    outputs: { ...systemOutputs('orders', apiUrl, 'orders'), ...systemOutputs('mails', apiUrl, 'mails') },
  }
  cloudFormation.stacks.Plain = { outputs: { BucketName: 'b' } }
  cloudFormation.stacks.Broken = { status: 'ROLLBACK_COMPLETE', outputs: {} }
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await cloudFormation.stop()
})

beforeEach(async () => {
  api = await anApi()
  signers = []
  cloudFormation.calls.length = 0
  cloudFormation.refusals.length = 0
  const folder = mkdtempSync(join(tmpdir(), 'aws-'))
  const config = join(folder, 'config')
  writeFileSync(
    config,
    `[profile live]\nregion = us-east-1\naws_access_key_id = ${TEMPORARY.accessKeyId}
aws_secret_access_key = ${TEMPORARY.secretAccessKey}\naws_session_token = ${TEMPORARY.sessionToken}
[profile nowhere]\naws_access_key_id = a\naws_secret_access_key = b\n`,
  )
  const environment = {
    AWS_CONFIG_FILE: config,
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_PROFILE: undefined,
    AWS_DEFAULT_REGION: undefined,
    AWS_SESSION_TOKEN: undefined,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
  }
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
})
afterEach(() => void vi.unstubAllEnvs())

const baton = (...args: string[]) =>
  runOn(undefined, args, {
    env: { AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url, AWS_ENDPOINT_URL: cloudFormation.url },
    fetch,
  })

describe('--stack', () => {
  it('finds the API in the outputs of the stack, and signs every call', async () => {
    const published = await baton('publish', 'jobs', '{"n":1}', '--key', 'a b', '--stack', 'Shop')
    const shown = await baton('get', 'jobs:a b', '--json', '--stack', 'Shop')

    expect(published).toMatchObject({ code: 0, out: 'jobs:a b published\n' })
    expect(JSON.parse(shown.out).input).toEqual({ n: 1 })
    expect(cloudFormation.calls).toEqual(['DescribeStacks', 'DescribeStacks'])
    expect(new Set(signers)).toEqual(new Set([KEYS.accessKeyId]))
  })

  it('takes the ARN of a stack, too', async () => {
    const arn = 'arn:aws:cloudformation:us-east-1:123456789012:stack/Shop/0af1'

    expect(await baton('types', '--stack', arn)).toMatchObject({ code: 0 })
  })

  it('takes region and credentials from a profile, also temporary ones', async () => {
    vi.stubEnv('AWS_REGION', undefined)

    expect(await baton('types', '--stack', 'Shop', '--profile', 'live')).toMatchObject({ code: 0 })
    expect(signers).toEqual([TEMPORARY.accessKeyId])
  })

  it('chooses among several systems of a stack by name', async () => {
    const chosen = await baton('types', '--stack', 'Two/mails')
    const unclear = await baton('types', '--stack', 'Two')
    const wrong = await baton('types', '--stack', 'Two/else')

    expect(chosen.code).toBe(0)
    expect(unclear).toMatchObject({ code: 2, out: '' })
    expect(unclear.err).toBe(
      'the stack Two has several task systems, orders, mails: give for example --stack Two/orders\n',
    )
    expect(wrong.err).toContain('has no task system else, only orders, mails')
  })

  it.each([
    [
      'a stack without a task system',
      'Plain',
      2,
      'the stack Plain in us-east-1 (CREATE_COMPLETE) has no task system: its outputs are BucketName',
    ],
    ['a stack without outputs', 'Broken', 2, '(ROLLBACK_COMPLETE) has no task system: it has no outputs'],
    ['a stack that there is not', 'None', 2, 'there is no stack None in us-east-1 of this account'],
  ])('says what there is for %s', async (_name, stack, exitCode, message) => {
    const { code, err, out } = await baton('types', '--stack', stack)

    expect(err).toContain(message)
    expect(err.trim().split('\n')).toHaveLength(1)
    expect({ code, out }).toEqual({ code: exitCode, out: '' })
  })

  it('says that CloudFormation refuses, and asks again when it is busy', async () => {
    cloudFormation.refusals.push([403, 'AccessDenied'])
    const denied = await baton('types', '--stack', 'Shop')
    cloudFormation.refusals.push([400, 'Throttling'])
    const throttled = await baton('types', '--stack', 'Shop')

    expect(denied).toMatchObject({ code: 1, out: '' })
    expect(denied.err).toBe(
      'CloudFormation does not show the stack Shop in us-east-1: AccessDenied: refused as AccessDenied\n',
    )
    expect(throttled.code).toBe(0)
  })

  it('says that the credentials are wrong, or that there are none', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'other')
    const wrong = await baton('types', '--stack', 'Shop')
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
    const none = await baton('types', '--stack', 'Shop')
    const unknown = await baton('types', '--stack', 'Shop', '--profile', 'unknown')

    expect(wrong.err).toContain('SignatureDoesNotMatch')
    expect(none).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^no AWS credentials: .*; give --profile/),
    })
    expect(unknown).toMatchObject({
      code: 2,
      err: expect.stringContaining('no AWS credentials of the profile unknown: '),
    })
    expect(unknown.err).toContain('log in with aws sso login --profile unknown')
  })

  it('says that no region is known, and that an endpoint does not answer', async () => {
    vi.stubEnv('AWS_REGION', undefined)
    const nowhere = await baton('types', '--stack', 'Shop', '--profile', 'nowhere')
    const env = { AWS_ENDPOINT_URL: 'http://127.0.0.1:1/' }
    const silent = await runOn(undefined, ['types', '--stack', 'Shop', '--region', 'us-east-1'], {
      env,
      fetch,
    })

    expect(nowhere).toMatchObject({
      code: 2,
      err: expect.stringContaining('give --region, or set AWS_REGION'),
    })
    expect(silent.code).toBe(1)
    expect(silent.err).toContain('DescribeStacks got no answer from http://127.0.0.1:1/: ')
  })

  it('is checked by doctor: the deployment, and the alarms that have gone off', async () => {
    const fine = await baton('doctor', '--stack', 'Shop')
    cloudFormation.alarms.push('Shop-SetByHand', 'Shop-staging-Late-1', 'Shop-TasksDeadLetters1A2B')
    const ringing = await baton('doctor', '--stack', 'Shop')
    cloudFormation.alarms.length = 0
    vi.stubEnv('AWS_PROFILE', 'live')
    const withSilentAlarms = await runOn(undefined, ['doctor', '--stack', 'Shop'], {
      env: { AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url, AWS_ENDPOINT_URL: 'http://127.0.0.1:1/' },
      fetch,
    })

    expect(fine.out).toContain('the stack Shop in us-east-1 is CREATE_COMPLETE')
    expect(fine.out).toContain('no alarm of the stack has gone off')
    expect(fine.code).toBe(0)
    expect(ringing.out).toContain(
      '✗ the alarm Shop-TasksDeadLetters1A2B has gone off: Shop-TasksDeadLetters1A2B: 1 > 0',
    )
    expect(ringing.out).toContain('✗ the alarm Shop-SetByHand has gone off\n')
    expect(ringing.out).not.toContain('staging')
    expect(ringing.code).toBe(1)
    expect(withSilentAlarms.out).toContain('! DescribeAlarms got no answer from')
    expect(withSilentAlarms.code).toBe(0)
  })

  it('is named by each command that why and doctor advise, which run as they stand', async () => {
    const options = ['--stack', 'Shop', '--profile', 'live', '--region', 'us-east-1']
    await baton('publish', 'jobs', '--key', 'a', '--delay', '1h', ...options)
    await baton('cancel', 'jobs:a', ...options)
    const why = await baton('why', 'jobs:a', ...options)
    const doctor = await baton('doctor', 'jobs:a', ...options)
    const command = `retry jobs:a ${options.join(' ')}`

    expect(why.out).toContain(`baton ${command} `)
    expect(doctor.out).toContain(`baton ${command} `)
    expect(await baton(...command.split(' '))).toMatchObject({ code: 0, out: 'jobs:a retried\n' })
    const system = await baton('doctor', ...options)
    expect(system.out).toContain(`baton doctor jobs:a ${options.join(' ')}\n`)
  })

  it('tells where the logs of a deployed system are', async () => {
    await baton('publish', 'jobs', '--key', 'a', '--stack', 'Shop')

    expect((await baton('logs', 'jobs:a', '--stack', 'Shop')).err).toContain('CloudWatch Logs')
  })
})

describe('--url', () => {
  it('is called with signatures when a profile or a region is given', async () => {
    const signed = await baton('types', '--url', apiUrl, '--profile', 'live')
    const unsigned = await baton('types', '--url', apiUrl)

    expect(signed.code).toBe(0)
    expect(signers).toEqual([TEMPORARY.accessKeyId])
    expect(unsigned.code).toBe(1)
    expect(unsigned.err).toContain(
      'calls of a deployed API are signed: give --stack NAME, or --profile NAME with --url',
    )
  })

  it('goes not together with --stack', async () => {
    const { code, err } = await baton('types', '--url', apiUrl, '--stack', 'Shop')

    expect(code).toBe(2)
    expect(err).toContain("cannot be used with option '--stack")
  })
})
