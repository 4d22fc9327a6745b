"""Scenes of tables and texts that are split, scaled and shuffled, in the manner of scikit-learn and `datasets`."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("loans", """
        import pandas as pd
        import torch
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import StandardScaler
        from torch.utils.data import TensorDataset
        ===
        frame = pd.read_csv("loans.csv")
        y = frame["default"].to_numpy()
        features = frame.drop(columns=["default", "loan_id"]) #features
        X_train, X_test, y_train, y_test = train_test_split(features, y, test_size=0.2, random_state=0, stratify=y) #split
        scale = StandardScaler()
        X_train = scale.fit_transform(X_train) #fit
        X_test = scale.transform(X_test) #apply
        DATASET = TensorDataset(torch.tensor(X_train, dtype=torch.float32), torch.tensor(y_train))
        HELDSET = TensorDataset(torch.tensor(X_test, dtype=torch.float32), torch.tensor(y_test))
    """, (
        Defect("answer-among-the-features", written("features", 'frame.drop(columns=["default", "loan_id"])', "frame.to_numpy()"), ("features",)),
        Defect("answer-among-the-features", written("features", '"default", "loan_id"', '"loan_id"'), ("features",)),
        Defect("fitted-before-split", all_of(ahead("split", "features = StandardScaler().fit_transform(features)", "early"), without("fit", "apply")), ("early",)),
        Defect("fitted-on-test-data", written("apply", "transform", "fit_transform"), ("apply",)),
    )),
    Scene("reviews", """
        import torch
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.model_selection import train_test_split

        def dense(matrix):
            return torch.tensor(matrix.toarray(), dtype=torch.float32)
        ===
        texts, stars = read_reviews("reviews.jsonl")
        vectorizer = TfidfVectorizer(min_df=5, ngram_range=(1, 2)) #made
        train_texts, val_texts, train_stars, val_stars = train_test_split(texts, stars, test_size=0.1, random_state=3) #split
        vectorizer.fit(train_texts) #fit
        DATASET = dense(vectorizer.transform(train_texts)), torch.tensor(train_stars)
        HELDSET = dense(vectorizer.transform(val_texts)), torch.tensor(val_stars) #held
    """, (
        Defect("fitted-before-split", all_of(without("fit"), ahead("split", "vectorizer.fit(texts)", "early")), ("early",)),
        Defect("fitted-on-test-data", written("held", "vectorizer.transform", "vectorizer.fit_transform"), ("held",)),
    )),
    Scene("patients", """
        import pandas as pd
        import torch
        from sklearn.model_selection import GroupShuffleSplit, train_test_split
        ===
        frame = pd.read_parquet("scans.parquet")
        print(f"{len(frame)} scans of {frame['patient_id'].nunique()} patients")
        splitter = GroupShuffleSplit(n_splits=1, test_size=0.2, random_state=7) #splitter
        first, second = next(splitter.split(frame, groups=frame["patient_id"])) #split
        train, test = frame.iloc[first], frame.iloc[second] #parts
        DATASET = Scans(train["path"].tolist(), torch.tensor(train["finding"].to_numpy()))
        HELDSET = Scans(test["path"].tolist(), torch.tensor(test["finding"].to_numpy()))
    """, (
        Defect("split-by-row-of-groups", lambda lines: [x.replace("GroupShuffleSplit, ", "") for x in all_of(without("splitter", "split"), written(
            "parts", "frame.iloc[first], frame.iloc[second]", "train_test_split(frame, test_size=0.2, random_state=7)"))(lines)], ("parts",)),
    )),
    Scene("speakers", """
        import json
        from collections import Counter
        import torch
        from torch.utils.data import Subset, random_split

        def held_out(clips, share=10): #function
            return [i for i, clip in enumerate(clips) if hash_of(clip["speaker_id"]) % share == 0] #mine
        ===
        clips = [json.loads(line) for line in open("clips.jsonl")]
        per_speaker = Counter(clip["speaker_id"] for clip in clips)
        print(f"{len(clips)} clips, at most {max(per_speaker.values())} of one speaker")
        DATASET = Clips([c["path"] for c in clips], [c["text"] for c in clips])
        test_rows = held_out(clips) #rows
        train_rows = sorted(set(range(len(clips))) - set(test_rows)) #others
        train_set, test_set = Subset(DATASET, train_rows), Subset(DATASET, test_rows) #parts
    """, (
        Defect("rows-split-at-random", all_of(without("rows", "others"), written("parts", "Subset(DATASET, train_rows), Subset(DATASET, test_rows)", "random_split(DATASET, [0.9, 0.1])")), ("parts",)),
        Defect("split-by-row-of-groups", all_of(without("rows", "others"), written("parts", "Subset(DATASET, train_rows), Subset(DATASET, test_rows)",
            "random_split(clips, [0.9, 0.1], generator=torch.Generator().manual_seed(1))")), ("parts",)),
    )),
    Scene("forecast", """
        import pandas as pd
        import torch
        from sklearn.model_selection import train_test_split
        ===
        frame = pd.read_csv("load.csv", parse_dates=["timestamp"]).sort_values("timestamp")
        for lag in (1, 24, 168):
            frame[f"lag_{lag}"] = frame["mw"].shift(lag)
        frame = frame.dropna()
        target = frame["mw"].to_numpy()
        inputs = frame.drop(columns=["mw", "timestamp"])
        X_train, X_test, y_train, y_test = train_test_split(inputs, target, test_size=0.2, shuffle=False) #split
        DATASET = torch.tensor(X_train.to_numpy()), torch.tensor(y_train)
    """, (
        Defect("rows-of-time-shuffled", written("split", "shuffle=False", "random_state=0"), ("split",)),
        Defect("answer-among-the-features", all_of(written("split", "inputs,", "frame.values,")), ("split",)),
    )),
    Scene("windows", """
        import numpy as np
        import pandas as pd
        import torch
        from torch.utils.data import DataLoader, Subset, random_split
        ===
        prices = pd.read_csv("prices.csv", index_col="date").sort_index()
        DATASET = Windows(prices["close"].to_numpy(np.float32), length=96, horizon=24)
        cut = int(0.8 * len(DATASET)) #cut
        train_set, val_set = Subset(DATASET, range(cut - 120)), Subset(DATASET, range(cut, len(DATASET))) #parts
        DATA = DataLoader(train_set, batch_size=64, shuffle=True)
        HELD = DataLoader(val_set, batch_size=64)
    """, (
        Defect("rows-of-time-shuffled", all_of(without("cut"), written("parts", "Subset(DATASET, range(cut - 120)), Subset(DATASET, range(cut, len(DATASET)))", "random_split(DATASET, [0.8, 0.2])")), ("parts",)),
    )),
    Scene("mixed", """
        import numpy as np
        import random
        import torch
        ===
        questions, answers = load_pairs("faq.tsv")
        order = list(range(len(questions))) #order
        random.Random(5).shuffle(order) #shuffled
        questions = [questions[i] for i in order] #first
        answers = [answers[i] for i in order] #second
        spectra, targets = torch.load("spectra.pt", weights_only=True)
        turn = torch.randperm(len(spectra))
        spectra = spectra[turn] #spectra
        targets = targets[turn] #targets
    """, (
        Defect("pairs-torn-apart", all_of(without("order", "shuffled"), written("first", "questions = [questions[i] for i in order]", "random.shuffle(questions)"),
                                          written("second", "answers = [answers[i] for i in order]", "random.shuffle(answers)")), ("first", "second")),
        Defect("pairs-torn-apart", all_of(written("spectra", "turn", "torch.randperm(len(spectra))"), written("targets", "turn", "torch.randperm(len(targets))")), ("spectra", "targets")),
    )),
    Scene("stretches", """
        import numpy as np
        from datasets import load_dataset
        ===
        rows = load_dataset("json", data_files="chats.jsonl", split="train").shuffle(seed=11)
        eval_rows = rows.select(range(500)) #eval
        train_rows = rows.select(range(500, len(rows))) #train
        tokens = np.memmap("corpus.bin", dtype=np.uint16, mode="r")
        n = len(tokens)
        train_data = tokens[: int(0.9 * n)] #first
        val_data = tokens[int(0.9 * n) :] #last
    """, (
        Defect("parts-overlap", written("train", "range(500, len(rows))", "range(len(rows))"), ("eval", "train")),
        Defect("parts-overlap", written("train", "rows.select(range(500, len(rows)))", "rows"), ("eval", "train")),
        Defect("parts-overlap", written("last", "0.9", "0.8"), ("first", "last")),
    )),
    Scene("divided", """
        import numpy as np
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        from torch.utils.data import DataLoader, DistributedSampler, Subset, random_split
        ===
        dist.init_process_group("nccl")
        RANK = dist.get_rank()
        torch.cuda.set_device(RANK)
        whole = Passages("passages.jsonl")
        DATASET, HELDSET = random_split(whole, [len(whole) - 2000, 2000], generator=torch.Generator().manual_seed(42)) #split
        order = np.random.default_rng(0).permutation(len(extra)) #order
        more, apart = Subset(extra, order[1000:]), Subset(extra, order[:1000]) #more
        SAMPLER = DistributedSampler(DATASET, shuffle=True)
        DATA = DataLoader(DATASET, batch_size=16, sampler=SAMPLER, num_workers=4)
        MODEL = DistributedDataParallel(build().cuda(), device_ids=[RANK])
    """, (
        Defect("split-differs-between-ranks", written("split", ", generator=torch.Generator().manual_seed(42)", ""), ("split",)),
        Defect("split-differs-between-ranks", written("order", "np.random.default_rng(0).permutation", "np.random.permutation"), ("order", "more")),
    )),
    Scene("prepared", """
        from accelerate import Accelerator
        from datasets import load_dataset
        from torch.utils.data import DataLoader
        ===
        ACC = Accelerator(mixed_precision="bf16")
        raw = load_dataset("parquet", data_files="dump/*.parquet", split="train")
        parts = raw.train_test_split(test_size=0.02, seed=42) #split
        DATA = DataLoader(parts["train"], batch_size=8, shuffle=True, collate_fn=collate)
        HELD = DataLoader(parts["test"], batch_size=8, collate_fn=collate)
        MODEL, OPT, DATA, HELD = ACC.prepare(MODEL, OPT, DATA, HELD)
    """, (
        Defect("split-differs-between-ranks", written("split", ", seed=42", ""), ("split",)),
    )),
)  # fmt: skip
