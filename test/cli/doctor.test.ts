import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { BOOTSTRAP_VERSION_MIN } from '../../cli/doctor/check-stack.ts'
import { compared } from '../../cli/doctor/check-system.ts'
import { ownVersion } from '../../cli/terminal/io.ts'
import { synthesise } from '../infra/synthesised.ts'
import { aSignedApi, known, type SignedApi, stubAwsUser } from '../support/cli/a-signed-api.ts'
import { jsonLines, runOn } from '../support/cli/a-terminal.ts'
import { anAws, type FakeAws } from '../support/cli/an-aws.ts'
import { systemOutputs } from '../support/cli/aws-xml.ts'
import { anApi } from '../support/http/an-api.ts'

/** `baton doctor --stack`: what it says about each part of a deployed system, well and not well. */

const PARAMETER = '/cdk-bootstrap/hnb659fds/version'
const FUNCTION = 'Shop-Api-1A2B'
const TRIGGER = '6f1c9a3e-0000-4000-8000-000000000001'
const [QUEUE, DEAD_LETTERS] = ['https://sqs/1/Shop-Wake', 'https://sqs/1/Shop-DeadLetters']
const HANDLER = 'Shop-Nested-Resize-9Z'

const arnOf = (url: string) => `arn:aws:sqs:us-east-1:1:${url.split('/').at(-1)}`

let signed: SignedApi
let aws: FakeAws

beforeAll(async () => {
  signed = await aSignedApi()
  aws = await anAws(known)
})
afterAll(async () => {
  signed.stop()
  await aws.stop()
})

beforeEach(async () => {
  signed.api = await anApi()
  stubAwsUser()
  aws.calls.length = 0
  aws.refusals.length = 0
  aws.strange.length = 0
  aws.alarms.length = 0
  aws.parameters[PARAMETER] = '21'
  aws.stacks.Shop = {
    outputs: systemOutputs('Shop', signed.url),
    resources: [
      ['AWS::Lambda::Function', FUNCTION],
      ['AWS::Lambda::Function', ''],
      ['AWS::Lambda::EventSourceMapping', TRIGGER],
      ['AWS::SQS::Queue', QUEUE],
      ['AWS::SQS::Queue', DEAD_LETTERS],
      ['AWS::CloudFormation::Stack', 'arn:aws:cloudformation:us-east-1:1:stack/Shop-Nested/0af1'],
    ],
  }
  aws.stacks['Shop-Nested'] = { outputs: {}, resources: [['AWS::Lambda::Function', HANDLER]] }
  for (const name of [FUNCTION, HANDLER])
    aws.functions[name] = { State: 'Active', LastUpdateStatus: 'Successful', Runtime: 'nodejs24.x' }
  aws.mappings.splice(0, 9, aMapping({ UUID: 'of another stack', State: 'Disabled' }), aMapping())
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf(DEAD_LETTERS), maxReceiveCount: 5 })
  aws.queues[QUEUE] = { ...attributesOf(QUEUE, 3, 2), RedrivePolicy }
  aws.queues[DEAD_LETTERS] = attributesOf(DEAD_LETTERS)
})
afterEach(() => void vi.unstubAllEnvs())

function aMapping(more: Readonly<Record<string, string>> = {}) {
  return {
    ...{ UUID: TRIGGER, State: 'Enabled', EventSourceArn: arnOf(QUEUE) },
    FunctionArn: `arn:aws:lambda:us-east-1:1:function:${FUNCTION}`,
    ...more,
  }
}

function attributesOf(url: string, waiting = 0, held = 0): Record<string, string> {
  return {
    QueueArn: arnOf(url),
    ApproximateNumberOfMessages: String(waiting),
    ApproximateNumberOfMessagesNotVisible: String(held),
  }
}

const doctor = (...options: string[]) =>
  runOn(undefined, ['doctor', '--stack', 'Shop', ...options], { env: { AWS_ENDPOINT_URL: aws.url }, fetch })

const functionIs = (configuration: object) => {
  aws.functions[HANDLER] = configuration
}
const triggerIs = (mapping: Readonly<Record<string, string>>) =>
  void aws.mappings.splice(1, 1, aMapping(mapping))

describe('baton doctor of a deployed system', () => {
  it('says that all is well, with code 0', async () => {
    const { code, out, err } = await doctor()

    expect(err).toBe('')
    expect(out.trim().split('\n')).toEqual([
      `✓ the API answers at ${signed.url}`,
      '✓ the clocks agree',
      `✓ this command and the system have version ${ownVersion()}`,
      '✓ the stack Shop in us-east-1 is CREATE_COMPLETE',
      '✓ no alarm of the stack has gone off',
      "✓ the CDK's bootstrap of account 123456789012 in us-east-1 has version 21 (needed: 6)",
      '✓ 2 functions can run (nodejs24.x)',
      '✓ 1 trigger reads its queue or stream',
      '✓ 2 queues hold about 3 messages, and 2 more are being worked on',
      expect.stringContaining('✓ no type (of 2) is paused'),
      '✓ no message was given up',
    ])
    expect(code).toBe(0)
    expect(aws.calls.filter(call => call === 'ListStackResources')).toHaveLength(4)
  })

  it.each([
    [
      'a stack that was rolled back',
      () => stackIs('UPDATE_ROLLBACK_COMPLETE'),
      'stack',
      /^the stack Shop in us-east-1 is UPDATE_ROLLBACK_COMPLETE$/,
      /deploy again/,
    ],
    [
      'no bootstrap',
      () => void delete aws.parameters[PARAMETER],
      'bootstrap',
      /^the CDK's bootstrap is missing in account 123456789012 in us-east-1: there is no parameter \/cdk-bootstrap\/hnb659fds\/version/,
      /^npx cdk bootstrap aws:\/\/123456789012\/us-east-1$/,
    ],
    [
      'an old bootstrap',
      () => bootstrapIs('5'),
      'bootstrap',
      /has version 5; the next deployment needs 6$/,
      /^npx cdk bootstrap/,
    ],
    [
      'a failed function',
      () => functionIs({ State: 'Failed', StateReason: 'no network' }),
      'functions',
      /^the function Shop-Nested-Resize-9Z has failed and cannot run: no network$/,
      /deploy the stack again/,
    ],
    [
      'a function that was removed',
      () => void delete aws.functions[HANDLER],
      'functions',
      /^the function Shop-Nested-Resize-9Z does not exist any more$/,
      /outside of the stack/,
    ],
    [
      'an update that failed',
      () => functionIs({ State: 'Active', LastUpdateStatus: 'Failed', LastUpdateStatusReason: 'no role' }),
      'functions',
      /still runs its earlier code, because its last update has failed: no role$/,
      /deploy/,
    ],
    [
      'a trigger that is off',
      () => triggerIs({ State: 'Disabled', StateTransitionReason: 'User action' }),
      'triggers',
      /^the trigger of Shop-Api-1A2B, which reads Shop-Wake, is not enabled \(Disabled\): User action$/,
      /--uuid 6f1c9a3e\S+ --enabled --region us-east-1$/,
    ],
    [
      'a trigger that fails',
      () =>
        triggerIs({
          LastProcessingResult: 'PROBLEM: Function call failed',
          EventSourceArn: 'arn:aws:dynamodb:us-east-1:1:table/Shop-table/stream/2026-11-23T10:00:00.000',
        }),
      'triggers',
      /which reads the stream of Shop-table, fails: PROBLEM: Function call failed$/,
      /logs of the function Shop-Api-1A2B/,
    ],
    [
      'a trigger that was removed',
      () => void aws.mappings.splice(1, 1),
      'triggers',
      /^the trigger 6f1c9a3e\S+ does not exist any more$/,
      /deploy/,
    ],
    [
      'a queue that was removed',
      () => void delete aws.queues[QUEUE],
      'queues',
      /^the queue Shop-Wake does not exist any more$/,
      /outside of the stack/,
    ],
    [
      'an alarm',
      () => void aws.alarms.push('Shop-Late1A2B'),
      'alarms',
      /^the alarm Shop-Late1A2B has gone off: Shop-Late1A2B: 1 > 0$/,
      /operations\.md/,
    ],
    [
      'an alarm without the data that it needs',
      () => void aws.alarms.push('Shop-LateNoDataNeeded', 'Shop-LateNoData'),
      'alarms',
      /^the alarm Shop-LateNoDataNeeded has gone off/,
      /operations\.md/,
    ],
    [
      'an alarm of a nested stack',
      () => void aws.alarms.push('Shop-Nested-Errors9Z'),
      'alarms',
      /^the alarm Shop-Nested-Errors9Z has gone off/,
      /operations\.md/,
    ],
  ])('finds %s, and ends with code 1', async (_name, prepare, check, text, next) => {
    prepare()
    const { code, out } = await doctor('--json')

    expect(findingsIn(out)).toEqual([
      { level: 'wrong', check, text: expect.stringMatching(text), next: expect.stringMatching(next) },
    ])
    expect(code).toBe(1)
  })

  it.each([
    ['a deployment under way', () => stackIs('UPDATE_IN_PROGRESS'), 'stack', /UPDATE_IN_PROGRESS/],
    ['a function that is set up', () => functionIs({ State: 'Pending' }), 'functions', /is being set up$/],
    [
      'a function that is updated',
      () => functionIs({ State: 'Active', LastUpdateStatus: 'InProgress' }),
      'functions',
      /is being updated$/,
    ],
    [
      'a function that was not called for long',
      () => functionIs({ State: 'Inactive' }),
      'functions',
      /is inactive/,
    ],
    [
      'a trigger that is set up',
      () => triggerIs({ State: 'Creating' }),
      'triggers',
      /is not enabled yet \(Creating\)$/,
    ],
    [
      'messages that were given up',
      () => givenUp(4),
      'queues',
      /^about 4 messages that were given up wait in Shop-DeadLetters$/,
    ],
  ])('notices %s, with code 0', async (_name, prepare, check, text) => {
    prepare()

    await expectNotice(check, text)
  })

  it('continues when the resources of the stack are refused', async () => {
    aws.refusals.push([403, 'AccessDenied', 'ListStackResources'])
    const { code, out } = await doctor('--json')

    expect(findingsIn(out).map(({ check, level }) => [check, level])).toEqual(
      ['alarms', 'functions', 'triggers', 'queues'].map(check => [check, 'notice']),
    )
    expect(out.match(/needs cloudformation:ListStackResources/g)).toHaveLength(4)
    expect(out.match(/"grant cloudformation:ListStackResources to check this"/g)).toHaveLength(4)
    expect(code).toBe(0)
  })

  it('asks again when a service is busy', async () => {
    aws.alarms.push('Shop-Late1A2B')
    aws.refusals.push(
      [400, 'ThrottlingException', 'GetParameter'],
      [429, 'TooManyRequestsException', 'GetFunctionConfiguration'],
      [500, 'ServiceException', 'ListEventSourceMappings'],
      [400, 'RequestThrottled', 'GetQueueAttributes'],
      [400, 'Throttling', 'DescribeAlarms'],
    )
    const { out } = await doctor('--json')

    expect(findingsIn(out).map(({ check, level }) => [check, level])).toEqual([['alarms', 'wrong']])
    expect(aws.refusals).toEqual([])
  })

  const unread = (check: string, reason: string) => `^${check} could not be checked: .*${reason}`
  const lacking = (permission: string) => `cannot be read: needs ${permission} `
  const proxy = (service: string) => `does not come from ${service}, but perhaps from a proxy: <html>`

  it.each([
    ['GetParameter', 'bootstrap', 'ssm'],
    ['GetFunctionConfiguration', 'functions', 'lambda'],
    ['ListEventSourceMappings', 'triggers', 'lambda'],
    ['GetQueueAttributes', 'queues', 'sqs'],
    ['DescribeAlarms', 'alarms', 'cloudwatch'],
  ])('continues when %s is refused, and names the permission', async (action, check, service) => {
    for (let nth = 0; nth < 3; nth++) aws.refusals.push([400, 'AccessDeniedException', action])

    const permission = `${service}:${action}`
    await expectNotice(check, unread(check, lacking(permission)), `grant ${permission} to check this`)
  })

  it.each([
    [400, 'ThrottlingException', 'GetParameter', 'bootstrap'],
    [500, 'ServiceException', 'ListEventSourceMappings', 'triggers'],
  ])('says that a service is busy in all tries: %i %s', async (status, refusal, action, check) => {
    for (let nth = 0; nth < 4; nth++) aws.refusals.push([status, refusal, action])

    const busy = String.raw`cannot be read: busy in all 4 tries \(${refusal}: `
    await expectNotice(check, busy, 'wait a minute, and repeat')
    expect(aws.refusals).toEqual([])
  })

  it('says that the credentials have expired since the start, and asks for no permission', async () => {
    aws.refusals.push([400, 'ExpiredTokenException', 'GetParameter'])

    const next =
      'AWS refuses expired credentials: get new ones, for example with aws sso login --profile live'
    const expired = String.raw`cannot be read: Your AWS credentials have expired \(ExpiredToken`
    await expectNotice('bootstrap', expired, next, '--profile', 'live')
  })

  it('reports a refusal for another reason as it is', async () => {
    aws.refusals.push([400, 'RegionDisabledException', 'GetParameter'])

    await expectNotice('bootstrap', String.raw`\(RegionDisabledException: `, null)
  })

  it.each([
    ['GetParameter', 'bootstrap', 'ssm'],
    ['GetFunctionConfiguration', 'functions', undefined],
    ['ListEventSourceMappings', 'triggers', 'lambda'],
    ['DescribeAlarms', 'alarms', 'monitoring'],
  ])(
    'continues when the answer to %s breaks off, or is a page of a proxy',
    async (action, check, service) => {
      const next = 'check the connection, and repeat'
      aws.strange.push({ action, breaksOff: true })
      await expectNotice(check, `${action} got no answer from ${aws.url}: `, next)

      aws.strange.push({ action, page: '<html>log in first</html>' })
      await expectNotice(check, `${action} got an answer that ${proxy(service ?? 'lambda')}`, next)
    },
  )

  it('names a service that does not answer', async () => {
    const env = { AWS_ENDPOINT_URL: aws.url, AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1/' }
    const { code, out } = await runOn(undefined, ['doctor', '--stack', 'Shop'], { env, fetch })

    expect(out).toContain(
      '! functions could not be checked: GetFunctionConfiguration got no answer from http://127.0.0.1:1/',
    )
    expect(out).toContain('! triggers could not be checked: ListEventSourceMappings got no answer from')
    expect(code).toBe(0)
  })
})

const stackIs = (status: string) => {
  aws.stacks.Shop = { ...aws.stacks.Shop!, status }
}
const givenUp = (count: number) => {
  aws.queues[DEAD_LETTERS] = attributesOf(DEAD_LETTERS, count)
}
const bootstrapIs = (version: string) => {
  aws.parameters[PARAMETER] = version
}

type Found = { readonly level: string; readonly check: string }

/** The findings that are not fine. */
const findingsIn = (out: string): Found[] => jsonLines(out).filter(({ level }) => level !== 'fine')

/** Expects that one thing is noticed, and that the code is 0. */
async function expectNotice(
  check: string,
  text: string | RegExp,
  next: string | RegExp | null = /./,
  ...options: string[]
): Promise<void> {
  aws.stacks.Shop!.resources!.push(['AWS::CloudWatch::Alarm', 'Shop-Late1A2B'])
  const { code, out } = await doctor('--json', ...options)

  const advice = next && { next: typeof next === 'string' ? next : expect.stringMatching(next) }
  expect(findingsIn(out)).toEqual([{ level: 'notice', check, text: expect.stringMatching(text), ...advice }])
  expect(code).toBe(0)
}

describe('the bootstrap', () => {
  it('with a qualifier of the app is named in the command', async () => {
    aws.stacks.Shop = { ...aws.stacks.Shop!, bootstrap: '/cdk-bootstrap/ours/version' }

    expect((await doctor('--profile', 'live')).out).toContain(
      '  npx cdk bootstrap aws://123456789012/us-east-1 --qualifier ours --profile live\n',
    )
  })

  it('is not looked for when the template does not ask for it', async () => {
    aws.stacks.Shop = { ...aws.stacks.Shop!, bootstrap: null }
    const { out } = await doctor()

    expect(out).toContain('✓ the stack does not say which bootstrap of the CDK it needs')
    expect(aws.calls).not.toContain('GetParameter')
  })

  it('must have the version that our template demands', () => {
    const { json } = synthesise() as unknown as { json: { Rules: Record<string, unknown> } }

    expect(JSON.stringify(json.Rules)).toContain(
      `CDK bootstrap stack version ${BOOTSTRAP_VERSION_MIN} required`,
    )
  })
})

describe('the version', () => {
  it.each([
    ['1.4.2', '1.4.2', 'fine', 'this command and the system have version 1.4.2'],
    ['1.4.2', '1.0.0', 'fine', 'this command and the system have versions 1.4.2 and 1.0.0, which fit'],
    ['0.3.1', '0.3.9', 'fine', 'this command and the system have versions 0.3.1 and 0.3.9, which fit'],
    [
      '0.3.1',
      '0.4.0',
      'notice',
      'this command has version 0.3.1 and the system 0.4.0: calls and answers may differ',
    ],
    [
      '2.0.0',
      '1.9.9',
      'notice',
      'this command has version 2.0.0 and the system 1.9.9: calls and answers may differ',
    ],
    ['1.4.2', undefined, 'notice', 'the API does not report its version; this command has version 1.4.2'],
    ['1.4.2', 'unknown', 'notice', 'the API does not report its version; this command has version 1.4.2'],
  ])('%s of the command with %s of the system is %s', (own, theirs, level, text) => {
    expect(compared(own, theirs)).toMatchObject({ level, text })
  })

  it.each(['1.0.0; rm -rf ~', '1.0.0 $(id)', '1.0.0\nnext'])(
    'with another command behind it is none, and is not in the advice: %s',
    theirs => {
      const { text, next } = compared('2.0.0', theirs)

      expect(text).toBe('the API does not report its version; this command has version 2.0.0')
      expect(next).not.toContain('npx')
    },
  )

  it('of another line is reported with the command that fits, also for a system by its address', async () => {
    const { code, out } = await runOn(await anApi({}, '7.0.0'), ['doctor'])

    expect(out).toContain(
      `  use the command of the system: npx baton-tasks@7.0.0; or deploy the system with ${ownVersion()}\n`,
    )
    expect(code).toBe(0)
  })
})
