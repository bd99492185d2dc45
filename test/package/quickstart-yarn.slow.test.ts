import { describeQuickstart } from '../support/package/quickstart.ts'

/** The other quickstarts run on the Node of the machine, with the module system and the TypeScript 7 of the starter. */

describeQuickstart('by Yarn 1, on Node 22, in CommonJS, with TypeScript 5.9', {
  manager: 'yarn 1',
  node: 22,
  isCommonJs: true,
  typescript: '~5.9.3',
})

describeQuickstart('by Yarn 4, on Node 24', { manager: 'yarn 4', node: 24 })
