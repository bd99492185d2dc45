import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { lookUpLines } from '../../../../cli/dev/synthesis/systems.ts'

const RESOURCE = { fqn: 'aws-cdk-lib.Resource' }
const subnet = (id: string) => ({ path: `Shop/Net/${id}`, constructInfo: RESOURCE })

function anAssembly(missing: readonly object[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'look-ups-'))
  const artifacts = { Shop: { environment: 'aws://123456789012/eu-west-1', displayName: 'Shop' } }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ artifacts, missing }))
  const children = {
    Net: { path: 'Shop/Net', constructInfo: RESOURCE, children: { PublicSubnet1: subnet('PublicSubnet1') } },
    Zone: { path: 'Shop/Zone', constructInfo: RESOURCE },
    Tasks: { path: 'Shop/Tasks', constructInfo: { fqn: 'constructs.Construct' } },
  }
  writeFileSync(
    join(folder, 'tree.json'),
    JSON.stringify({ tree: { path: '', children: { Shop: { path: 'Shop', children } } } }),
  )
  return folder
}

const where = { account: '123456789012', region: 'eu-west-1', lookupRoleArn: 'arn:x' }

it('a look-up is one line that names its construct and what to do', () => {
  const folder = anAssembly([
    { provider: 'vpc-provider', props: { ...where, filter: { isDefault: 'true' } } },
    { provider: 'hosted-zone', props: { ...where, domainName: 'example.com', dummyValue: { Id: 'DUMMY' } } },
    { provider: 'ssm', props: { ...where, parameterName: '/a/b' } },
  ])

  const advice =
    "and gets a placeholder here; 'cdk synth' with credentials keeps the true answer in cdk.context.json"
  expect(lookUpLines(folder)).toEqual([
    `Shop/Net looks up in AWS (vpc-provider, filter {"isDefault":"true"}) ${advice}`,
    `Shop/Zone looks up in AWS (hosted-zone, domainName example.com) ${advice}`,
    `Shop looks up in AWS (ssm, parameterName /a/b) ${advice}`,
  ])
})

it('availability zones are not told: nothing depends on them here', () => {
  expect(lookUpLines(anAssembly([{ provider: 'availability-zones', props: where }]))).toEqual([])
})
