import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { type LayerFacts, layerFactsOf } from '../../src/layers/layer-facts.ts';
import { parseLayerInfo } from '../../src/trtexec/exports/layer-info.ts';
import { parseProfile } from '../../src/trtexec/exports/profile.ts';
import { joinLayers } from '../../src/layers/profiled-engine.ts';
import { FIXTURES, readFixture } from './recordings.ts';

/** The layers of a recorded folder, with times where it has a profile. */
export function recordedLayers(folder: string): LayerFacts[] {
  const profile = existsSync(join(FIXTURES, folder, 'profile.json.br'))
    ? parseProfile(readFixture(join(folder, 'profile.json.br')).toString('utf8')).layers
    : null;
  const info = parseLayerInfo(readFixture(join(folder, 'layers.json.br')).toString('utf8'));
  return layerFactsOf(joinLayers(profile, info));
}
