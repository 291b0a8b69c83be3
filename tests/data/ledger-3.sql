-- SPDX-License-Identifier: LGPL-2.1-or-later
-- A ledger of schema 3: one job, with the first and last record and those that close rounds.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE jobs ( -- one row per submitted job; ids are never used twice
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  life INTEGER NOT NULL, -- how many times it was started
  uid INTEGER NOT NULL, -- who submitted it, and owns it
  purpose INTEGER NOT NULL, -- 0 train, 1 verify, 2 evaluate
  n_episodes INTEGER NOT NULL, -- of an evaluation
  submitted_usec INTEGER NOT NULL, -- since 1970; 0: not yet
  started_usec INTEGER NOT NULL,
  ended_usec INTEGER NOT NULL,
  state TEXT NOT NULL, -- queued, running, ended
  result TEXT NOT NULL, -- finished, target-reached, budget-exhausted, failed, ...
  fault TEXT, -- a sentence
  text TEXT NOT NULL, -- the job file as submitted
  file_name TEXT NOT NULL,
  overrides TEXT NOT NULL, -- one Section.Key=VALUE a line
  sheet TEXT NOT NULL, -- the price sheet as of the submission: a bill never changes afterwards
  files TEXT NOT NULL, -- one key=path a line, below the job's directory
  policy_sha256 BLOB -- of the last policy
, scheduler_data BLOB, distribution TEXT /* what Policy=auto came to; NULL: nothing yet */, distribution_reason TEXT, distribution_life INTEGER NOT NULL DEFAULT 0 /* the first that runs so */, learners INTEGER NOT NULL DEFAULT 0 /* of that distribution */) STRICT;
INSERT INTO jobs VALUES(1,1,1000,0,0,1,2,3,'ended','finished',NULL,replace('[Job]\nEnvironment=CartPole-v1\n','\n',char(10)),'a.conf','',replace('[Sheet]\n','\n',char(10)),'',X'4b3e5edc5f0b14cc88bed883e7cb67d389f5b3d81606a5050ec26b1a4788034b',NULL,NULL,NULL,0,0);
CREATE TABLE records ( -- what the invokers metered, in base units: one row per invocation, update, round, fault
  job INTEGER NOT NULL REFERENCES jobs (id),
  life INTEGER NOT NULL,
  seq INTEGER NOT NULL, -- from 1 within the life, without gaps
  actor INTEGER, -- NULL: the learner, or nobody
  kind INTEGER NOT NULL, -- see table kinds
  round INTEGER NOT NULL, -- from 1; 0: before the first
  ordinal INTEGER NOT NULL, -- of the actor's invocations, or of the learner's updates
  attempt INTEGER NOT NULL, -- above 0: a retry
  cold INTEGER NOT NULL, -- the container was started for this invocation
  wasted INTEGER NOT NULL, -- its result was thrown away
  fault INTEGER NOT NULL, -- see table faults; 0: none
  detail INTEGER NOT NULL, -- of the fault: a signal, a row, an errno
  level INTEGER NOT NULL, -- kind started: sandbox level 0 none, 1 process, 2 userns, 3 full
  limits_missing INTEGER NOT NULL, -- kind started: bits of the limits that are not enforced
  end INTEGER NOT NULL, -- why no further round starts; 0: it does
  start_nsec INTEGER NOT NULL, -- since boot, suspend included
  end_nsec INTEGER NOT NULL, -- since boot, suspend included
  cpu_nsec INTEGER NOT NULL, -- CPU time since the reading before
  memory_peak_bytes INTEGER NOT NULL, -- 0: not measured
  memory_reserved_bytes INTEGER NOT NULL, -- allocated, and billed
  emulated_nsec INTEGER NOT NULL, -- on the emulated clock
  n_steps INTEGER NOT NULL, -- environment steps
  emulated_round_nsec INTEGER NOT NULL, -- kind round: the whole round
  decision_id INTEGER NOT NULL, -- kind round: the decision it ran under
  decision_n_actors INTEGER NOT NULL, -- kind round: its number of actors
  sha256 BLOB, -- kind checkpoint: of the file; kind ended: of the policy
  PRIMARY KEY (job, life, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO records VALUES(1,1,1,NULL,0,0,0,0,0,0,0,0,3,96,0,816578005762,816579374828,2873490,0,0,0,0,0,0,0,NULL);
INSERT INTO records VALUES(1,1,6,NULL,6,1,0,0,0,0,0,0,0,0,0,816606379420,816614138477,2079619,0,0,0,0,304145613,1,1,NULL);
INSERT INTO records VALUES(1,1,9,NULL,6,2,0,0,0,0,0,0,0,0,1,816614141161,816620677719,203734,0,0,0,0,2424777,1,1,NULL);
INSERT INTO records VALUES(1,1,11,NULL,9,2,0,0,0,0,0,0,3,96,1,816623688125,816623688125,1135800,0,0,0,0,0,1,1,X'4b3e5edc5f0b14cc88bed883e7cb67d389f5b3d81606a5050ec26b1a4788034b');
CREATE TABLE statistics ( -- of rounds (the learner's) and evaluation episodes; NULL: not measured
  job INTEGER NOT NULL REFERENCES jobs (id),
  life INTEGER NOT NULL,
  seq INTEGER NOT NULL, -- of the record that brought them
  return_mean REAL, -- in reward
  return_round REAL, -- in reward
  evaluation_mean REAL, -- in reward
  evaluation_sd REAL, -- in reward
  episode_steps REAL, -- in steps
  loss_policy REAL, -- in 1
  loss_value REAL, -- in 1
  entropy REAL, -- in nat
  kl REAL, -- in nat
  clip_fraction REAL, -- in 1
  explained_variance REAL, -- in 1
  gradient_norm REAL, -- in 1
  learning_rate REAL, -- in 1
  curvature_min REAL, -- in 1
  curvature_max REAL, -- in 1
  curvature_ratio REAL, -- in 1
  curvature_loss REAL, -- in 1
  noise_scale REAL, -- in rows
  curvature_products REAL, -- in rows
  n_env_steps INTEGER NOT NULL, -- since the job's beginning
  n_episodes INTEGER NOT NULL,
  policy_version INTEGER NOT NULL,
  PRIMARY KEY (job, life, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO statistics VALUES(1,1,6,NULL,16.5,NULL,NULL,16.5,-0.0073953212953711041505,6.6846009651008344576,0.68832850210601459473,0.004838741669664159764,0.063867187500000005551,-0.0065482184742786664344,7.2017364511660586501,0.0010000000000000000208,NULL,NULL,NULL,NULL,NULL,NULL,256,8,1);
INSERT INTO statistics VALUES(1,1,9,NULL,20.333333333333332149,NULL,NULL,20.333333333333332149,-0.0023585848525272011186,6.9956305613172871105,0.68737632954725991218,0.00023219659924507142197,0.0,-0.054960476801996227536,9.8232441817368165715,0.0005000000000000000104,NULL,NULL,NULL,NULL,NULL,NULL,512,14,2);
INSERT INTO statistics VALUES(1,1,10,NULL,20.333333333333332149,NULL,NULL,20.333333333333332149,-0.0023585848525272011186,6.9956305613172871105,0.68737632954725991218,0.00023219659924507142197,0.0,-0.054960476801996227536,9.8232441817368165715,0.0005000000000000000104,NULL,NULL,NULL,NULL,NULL,NULL,512,14,2);
INSERT INTO statistics VALUES(1,1,11,NULL,20.333333333333332149,NULL,NULL,20.333333333333332149,-0.0023585848525272011186,6.9956305613172871105,0.68737632954725991218,0.00023219659924507142197,0.0,-0.054960476801996227536,9.8232441817368165715,0.0005000000000000000104,NULL,NULL,NULL,NULL,NULL,NULL,512,14,2);
CREATE TABLE checkpoints ( -- a checkpoint counts once its row is here
  job INTEGER NOT NULL REFERENCES jobs (id),
  life INTEGER NOT NULL,
  seq INTEGER NOT NULL, -- the ledger's position: later records of this life are repeated by the next one
  round INTEGER NOT NULL,
  name TEXT NOT NULL, -- of the file, below the job's state directory
  sha256 BLOB NOT NULL, -- of the file
  scheduler BLOB, -- its state
  PRIMARY KEY (job, life, seq)
) STRICT;
INSERT INTO checkpoints VALUES(1,1,10,2,'checkpoint-2.safetensors',X'16dddd6720ff42b7f4247ebc6bdf2d279c03fc9469cd5e1125ce9c63efa0f49d',X'02000000000000000100000000000000010000000000000001000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE kinds ( -- words for records.kind
  kind INTEGER PRIMARY KEY,
  word TEXT NOT NULL
) STRICT;
INSERT INTO kinds VALUES(0,'started');
INSERT INTO kinds VALUES(1,'worker');
INSERT INTO kinds VALUES(2,'rollout');
INSERT INTO kinds VALUES(3,'evaluation');
INSERT INTO kinds VALUES(4,'update');
INSERT INTO kinds VALUES(5,'pool');
INSERT INTO kinds VALUES(6,'round');
INSERT INTO kinds VALUES(7,'checkpoint');
INSERT INTO kinds VALUES(8,'fault');
INSERT INTO kinds VALUES(9,'ended');
INSERT INTO kinds VALUES(10,'evaluated');
CREATE TABLE faults ( -- words for records.fault
  fault INTEGER PRIMARY KEY,
  word TEXT NOT NULL
) STRICT;
INSERT INTO faults VALUES(0,'none');
INSERT INTO faults VALUES(1,'killed');
INSERT INTO faults VALUES(2,'exited');
INSERT INTO faults VALUES(3,'sandbox');
INSERT INTO faults VALUES(4,'out-of-memory');
INSERT INTO faults VALUES(5,'forbidden-call');
INSERT INTO faults VALUES(6,'timeout');
INSERT INTO faults VALUES(7,'load');
INSERT INTO faults VALUES(8,'spec');
INSERT INTO faults VALUES(9,'environment');
INSERT INTO faults VALUES(10,'observation');
INSERT INTO faults VALUES(11,'action');
INSERT INTO faults VALUES(12,'reward');
INSERT INTO faults VALUES(13,'lengths');
INSERT INTO faults VALUES(14,'answer');
INSERT INTO faults VALUES(15,'checkpoint');
INSERT INTO faults VALUES(16,'numeric');
INSERT INTO faults VALUES(17,'internal');
CREATE TABLE decisions ( -- how many actors rounds were given, and what the scheduler saw: of the round before, if there was one
  job INTEGER NOT NULL REFERENCES jobs (id),
  life INTEGER NOT NULL, -- that decided
  round INTEGER NOT NULL, -- the first one that it was for
  id INTEGER NOT NULL, -- records.decision_id of the rounds that ran under it
  decided INTEGER NOT NULL, -- the number of actors
  record INTEGER NOT NULL, -- seq of the record that closed the round before, whose statistics it saw; 0: none did
  n_actors INTEGER NOT NULL, -- that the round had
  learner_nsec INTEGER NOT NULL, -- of its update, on the emulated clock
  actor_mean_nsec INTEGER NOT NULL, -- of its accepted rollouts, on the emulated clock
  actor_slowest_nsec INTEGER NOT NULL, -- on the emulated clock
  round_nsec INTEGER NOT NULL, -- the whole round, on the emulated clock
  cost_nano INTEGER NOT NULL, -- its part of the full total, without evaluations, in billionths of the currency
  budget_left_nano INTEGER NOT NULL, -- of Budget= after it; without one all bits are set
  PRIMARY KEY (job, life, round)
) STRICT, WITHOUT ROWID;
INSERT INTO decisions VALUES(1,1,1,1,1,0,0,0,0,0,0,0,0);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('jobs',1);
CREATE INDEX records_rounds ON records (job, round) WHERE kind = 6 -- curves without a look at each invocation

;
CREATE VIEW invocations AS -- rollouts, evaluation episodes and updates, for people
SELECT r.job, r.life, r.seq, r.round, k.word AS kind, r.actor, r.ordinal, r.attempt, r.cold,
  r.wasted OR (r.life < j.life AND r.seq > coalesce((SELECT max(c.seq) FROM checkpoints c WHERE c.job = r.job AND c.life = r.life), 0)) AS wasted, f.word AS fault, r.n_steps,
  r.cpu_nsec / 1e9 AS cpu_s, r.emulated_nsec / 1e9 AS emulated_s,
  (r.end_nsec - r.start_nsec) / 1e9 AS wall_s,
  r.memory_peak_bytes / 1048576.0 AS memory_peak_mib,
  r.memory_reserved_bytes / 1048576.0 AS memory_reserved_mib
FROM records r JOIN jobs j ON j.id = r.job JOIN kinds k ON k.kind = r.kind
  LEFT JOIN faults f ON f.fault = r.fault WHERE r.kind IN (2, 3, 4)
;
CREATE VIEW rounds AS -- closed rounds that count, with the learner's statistics
SELECT r.job, r.life, r.seq, r.round, r.decision_n_actors AS n_actors,
  r.emulated_round_nsec / 1e9 AS emulated_s, r.end_nsec, s.n_env_steps, s.n_episodes,
  s.policy_version, s.return_mean, s.return_round, s.evaluation_mean, s.evaluation_sd, s.episode_steps, s.loss_policy, s.loss_value, s.entropy, s.kl, s.clip_fraction, s.explained_variance, s.gradient_norm, s.learning_rate, s.curvature_min, s.curvature_max, s.curvature_ratio, s.curvature_loss, s.noise_scale, s.curvature_products
FROM records r JOIN jobs j ON j.id = r.job LEFT JOIN statistics s USING (job, life, seq)
WHERE r.kind = 6 AND NOT (r.life < j.life AND r.seq > coalesce((SELECT max(c.seq) FROM checkpoints c WHERE c.job = r.job AND c.life = r.life), 0))
;
COMMIT;
PRAGMA application_id = 1633907761;
PRAGMA user_version = 3;
