import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SignedApi } from '../support/cli/a-signed-api.ts'
import { aSignedApi, KEYS, known, stubAwsUser, TEMPORARY } from '../support/cli/a-signed-api.ts'
import { runOn } from '../support/cli/a-terminal.ts'
import { anAws, type FakeAws } from '../support/cli/an-aws.ts'
import { CALLER, systemOutputs } from '../support/cli/aws-xml.ts'
import { anApi } from '../support/http/an-api.ts'

/** `--stack`, `--profile` and `--region`: a fake CloudFormation, and an API that demands signatures as API Gateway does. */

let signed: SignedApi
let aws: FakeAws

beforeAll(async () => {
  signed = await aSignedApi()
  aws = await anAws(known)
  aws.stacks.Shop = { outputs: { Unrelated: 'a < b & c', ...systemOutputs('Shop', `${signed.url}/`) } }
  aws.stacks.Two = {
    outputs: {
      ...systemOutputs('orders', signed.url, 'orders'),
      ...systemOutputs('mails', signed.url, 'mails'),
    },
  }
  aws.stacks.Plain = { outputs: { BucketName: 'b' } }
  aws.stacks.Broken = { status: 'ROLLBACK_COMPLETE', outputs: {} }
})
afterAll(async () => {
  signed.stop()
  await aws.stop()
})

beforeEach(async () => {
  signed.api = await anApi()
  signed.signers.length = 0
  signed.refusal = undefined
  aws.calls.length = 0
  aws.refusals.length = 0
  stubAwsUser()
})
afterEach(() => void vi.unstubAllEnvs())

const baton = (...args: string[]) =>
  runOn(undefined, args, {
    env: { AWS_ENDPOINT_URL_CLOUDFORMATION: aws.url, AWS_ENDPOINT_URL: aws.url },
    fetch,
  })

const types = (...args: string[]) => baton('types', ...args)
const saying = (text: string) => expect.stringContaining(text)
/** An error of one line that has this text. */
const inOneLine = (text: string) =>
  expect.stringMatching(new RegExp(`^.*${text.replace(/[()]/g, '\\$&')}.*\\n$`))

describe('--stack', () => {
  it('finds the API in the outputs of the stack, and signs every call', async () => {
    const published = await baton('publish', 'jobs', '{"n":1}', '--key', 'a b', '--stack', 'Shop')
    const shown = await baton('get', 'jobs:a b', '--json', '--stack', 'Shop')

    expect(published).toMatchObject({ code: 0, out: 'jobs:a b published\n' })
    expect(JSON.parse(shown.out).input).toEqual({ n: 1 })
    expect(aws.calls).toEqual(['DescribeStacks', 'DescribeStacks'])
    expect(new Set(signed.signers)).toEqual(new Set([KEYS.accessKeyId]))
  })

  it('takes the ARN of a stack, too', async () => {
    const arn = 'arn:aws:cloudformation:us-east-1:123456789012:stack/Shop/0af1'

    expect(await types('--stack', arn)).toMatchObject({ code: 0 })
  })

  it('takes region and credentials from a profile, also temporary ones', async () => {
    vi.stubEnv('AWS_REGION', undefined)

    expect(await types('--stack', 'Shop', '--profile', 'live')).toMatchObject({ code: 0 })
    expect(signed.signers).toEqual([TEMPORARY.accessKeyId])
  })

  it('chooses among several systems of a stack by name', async () => {
    const chosen = await types('--stack', 'Two/mails')
    const unclear = await types('--stack', 'Two')
    const wrong = await types('--stack', 'Two/else')

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
      'the stack Plain in us-east-1 (CREATE_COMPLETE) has no task system: its outputs are BucketName',
    ],
    ['a stack without outputs', 'Broken', '(ROLLBACK_COMPLETE) has no task system: it has no outputs'],
    ['a stack that there is not', 'None', 'there is no stack None in us-east-1 of this account'],
  ])('says what there is for %s', async (_name, stack, message) => {
    expect(await types('--stack', stack)).toMatchObject({ code: 2, out: '', err: inOneLine(message) })
  })

  it('says that CloudFormation refuses, and asks again when it is busy', async () => {
    aws.refusals.push([403, 'AccessDenied'])
    const denied = await types('--stack', 'Shop')
    aws.refusals.push([400, 'Throttling'])
    const throttled = await types('--stack', 'Shop')

    expect(denied).toMatchObject({ code: 1, out: '' })
    expect(denied.err).toBe(
      'CloudFormation does not show the stack Shop in us-east-1: AccessDenied: refused as AccessDenied\n',
    )
    expect(throttled.code).toBe(0)
  })

  it('says that the credentials are wrong, or that there are none', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'other')
    const wrong = await types('--stack', 'Shop')
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
    const none = await types('--stack', 'Shop')
    const unknown = await types('--stack', 'Shop', '--profile', 'unknown')

    expect(wrong.err).toContain(
      'SignatureDoesNotMatch: The signature is wrong; the secret access key does not belong',
    )
    expect(none).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^no AWS credentials: .*; give --profile/),
    })
    expect(unknown).toMatchObject({ code: 2, err: saying('no AWS credentials of the profile unknown: ') })
    expect(unknown.err).toContain('log in with aws sso login --profile unknown')
  })

  it('says how to renew credentials that have expired', async () => {
    aws.refusals.push([403, 'ExpiredToken'], [403, 'ExpiredToken'])
    const ofProfile = await types('--stack', 'Shop', '--profile', 'live')
    const ofEnvironment = await runOn(undefined, ['types', '--stack', 'Shop'], {
      env: { AWS_ENDPOINT_URL: aws.url, AWS_PROFILE: 'other' },
      fetch,
    })

    expect(ofProfile).toMatchObject({
      code: 1,
      err: 'CloudFormation does not show the stack Shop in us-east-1: ExpiredToken: refused as ExpiredToken; AWS refuses expired credentials: get new ones, for example with aws sso login --profile live\n',
    })
    expect(ofEnvironment.err).toContain('aws sso login --profile other')
  })

  it('says that no region is known, and that an endpoint does not answer', async () => {
    vi.stubEnv('AWS_REGION', undefined)
    const nowhere = await types('--stack', 'Shop', '--profile', 'nowhere')
    const silent = await runOn(undefined, ['types', '--stack', 'Shop', '--region', 'us-east-1'], {
      env: { AWS_ENDPOINT_URL: 'http://127.0.0.1:1/' },
      fetch,
    })

    expect(nowhere).toMatchObject({ code: 2, err: saying('give --region, or set AWS_REGION') })
    const unanswered = saying('DescribeStacks got no answer from http://127.0.0.1:1/: ')
    expect(silent).toMatchObject({ code: 1, err: unanswered })
  })

  it('is named by each command that why and doctor advise, which run as they are', async () => {
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

  it('reports where the logs of a deployed system are', async () => {
    await baton('publish', 'jobs', '--key', 'a', '--stack', 'Shop')

    expect((await baton('logs', 'jobs:a', '--stack', 'Shop')).err).toContain('CloudWatch Logs')
  })
})

describe('a refusal by API Gateway', () => {
  const EXPIRED =
    'AWS refuses expired credentials: get new ones, for example with aws sso login --profile live'
  const UNKNOWN = 'the access key does not exist or is not active, or the session token is not its own'
  const SECRET = 'the secret access key does not belong to the access key'
  const CLOCK = 'the clock of this machine differs by more than 5 minutes: set it'
  const asked = (...args: string[]) => types('--stack', 'Shop', '--profile', 'live', ...args)

  it.each([
    ['ExpiredTokenException', 'The security token included in the request is expired', EXPIRED],
    [undefined, 'The security token included in the request is expired', EXPIRED],
    ['UnrecognizedClientException', 'The security token included in the request is invalid.', UNKNOWN],
    ['InvalidSignatureException', 'The request signature we calculated does not match the signature', SECRET],
    ['InvalidSignatureException', 'Signature expired: 20261123T100000Z is now earlier than', CLOCK],
    [
      'AccessDeniedException',
      'User: arn:a is not authorized to perform: execute-api:Invoke',
      'has no permission execute-api:Invoke for GET /v1/types of 127.0.0.1:',
    ],
  ])('that tells the reason is explained: %s, %s', async (type, message, explanation) => {
    signed.refusal = { message, ...(type && { type }) }

    expect(await asked()).toMatchObject({ code: 1, out: '', err: saying(explanation) })
    expect(aws.calls).toEqual(['DescribeStacks'])
  })

  it.each([
    ['ExpiredToken', EXPIRED],
    ['InvalidClientTokenId', UNKNOWN],
    ['SignatureDoesNotMatch', SECRET],
    ['RequestExpired', CLOCK],
    ['RegionDisabledException', 'does not say why it refuses GET /v1/types (RegionDisabledException: '],
  ])('that only says Forbidden is explained by the answer %s of STS', async (refusal, explanation) => {
    signed.refusal = { message: 'Forbidden' }
    aws.refusals.push([403, refusal, 'GetCallerIdentity'])

    expect(await asked()).toMatchObject({ code: 1, err: inOneLine(explanation) })
  })

  it('of valid credentials names the caller and the permission', async () => {
    signed.refusal = { message: 'Forbidden' }
    const { err } = await asked()
    const asJson = await asked('--json')

    expect(err).toContain(`${CALLER} has no permission execute-api:Invoke for GET /v1/types of 127.0.0.1:`)
    expect(err).toContain('grantRead and grantOperate of the task system give it, or use another --profile')
    expect(JSON.parse(asJson.err)).toMatchObject({
      ...{ type: 'urn:baton:problem:forbidden', title: 'You may not make this call', status: 403 },
    })
  })

  it('is not explained when STS does not answer', async () => {
    signed.refusal = { message: 'Forbidden' }
    const env = { AWS_ENDPOINT_URL_CLOUDFORMATION: aws.url, AWS_ENDPOINT_URL: 'http://127.0.0.1:1/' }
    const { code, err } = await runOn(undefined, ['types', '--stack', 'Shop'], { env, fetch })

    expect(err).toContain('does not say why it refuses GET /v1/types (GetCallerIdentity got no answer from')
    expect(err).toContain('check the credentials, their permission execute-api:Invoke, and the clock')
    expect(code).toBe(1)
  })

  const GATEWAY = 'https://x.execute-api.eu-west-1.amazonaws.com'
  /** Calls an API at this address, whose gateway only says Forbidden. */
  const refusedAt = (url: string, ...args: string[]) => {
    const send = async (request: Request) =>
      request.url.startsWith(url) ? Response.json({ message: 'Forbidden' }, { status: 403 }) : fetch(request)
    return runOn(undefined, ['types', '--url', url, ...args], {
      env: { AWS_ENDPOINT_URL: aws.url },
      fetch: send,
    })
  }

  it('of a call that is signed for another region than the address names says so, and asks nothing', async () => {
    const { code, err } = await refusedAt(GATEWAY, '--region', 'us-east-1')

    expect(err).toContain(
      'x.execute-api.eu-west-1.amazonaws.com is in eu-west-1, and the signature names us-east-1: give --region eu-west-1',
    )
    expect(err).not.toContain('permission')
    expect(aws.calls).toEqual([])
    expect(code).toBe(1)
  })

  it.each([
    ['its region has no other cause than the permission', GATEWAY.replace('eu-west-1', 'us-east-1'), ''],
    [
      'no region may be that of another region',
      'https://tasks.example.com',
      '; if the API is not in us-east-1, give its --region',
    ],
  ])('by an address that names %s', async (_name, url, more) => {
    const { err } = await refusedAt(url, '--region', 'us-east-1')

    expect(err).toContain(
      `${CALLER} has no permission execute-api:Invoke for GET /v1/types of ${new URL(url).host}`,
    )
    expect(err.trim()).toMatch(new RegExp(`or use another --profile${more}$`))
    expect(aws.calls).toEqual(['GetCallerIdentity'])
  })

  it.each(['http://tasks.internal:3000', 'http://my-machine.local:3000', 'https://localhost:3000'])(
    'by %s, which API Gateway cannot have, is not asked of AWS',
    async url => {
      const { err } = await refusedAt(url, '--profile', 'live', '--region', 'us-east-1')

      expect(err).toContain('(the local system prints why in its terminal)')
      expect(aws.calls).toEqual([])
    },
  )

  it('of the local system is not asked of AWS', async () => {
    signed.refusal = { message: 'Forbidden' }
    const { err } = await types('--url', signed.url, '--profile', 'live')

    expect(err).toContain('(the local system prints why in its terminal)')
    expect(aws.calls).toEqual([])
  })
})

describe('--url', () => {
  it('is called with signatures when a profile or a region is given', async () => {
    const advice = 'calls of a deployed API are signed: give --stack NAME, or --profile NAME with --url'
    const withProfile = await types('--url', signed.url, '--profile', 'live')
    const without = await types('--url', signed.url)

    expect(withProfile.code).toBe(0)
    expect(signed.signers).toEqual([TEMPORARY.accessKeyId])
    expect(without).toMatchObject({ code: 1, err: saying(advice) })
  })

  it('goes not together with --stack', async () => {
    const both = await types('--url', signed.url, '--stack', 'Shop')

    expect(both).toMatchObject({ code: 2, err: saying("cannot be used with option '--stack") })
  })
})
