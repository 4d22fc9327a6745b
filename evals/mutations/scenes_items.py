"""Scenes of datasets: items, files, transforms, samplers, workers, collators."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from .planting import Defect, ahead, all_of, unwrapped, without, written
from .scene import Scene

ITEMS = (
    Scene("volumes", """
        import h5py
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Volumes(Dataset):
            def __init__(self, path):
                self.path = path
                with h5py.File(path, "r") as file:
                    self.count = len(file["volume"])
                self.file = None #handle

            def __len__(self):
                return self.count

            def __getitem__(self, i):
                if self.file is None: #open
                    self.file = h5py.File(self.path, "r") #opened
                return torch.from_numpy(self.file["volume"][i]), int(self.file["label"][i])
        ===
        DATA = DataLoader(Volumes("train.h5"), batch_size=4, shuffle=True, num_workers=4)
    """, (
        Defect("handle-opened-before-workers", all_of(written("handle", "None", 'h5py.File(path, "r")'), unwrapped("open"), without("opened")), ("handle",)),
    )),
    Scene("stored", """
        import lmdb
        import pickle
        from torch.utils.data import DataLoader, Dataset

        class Stored(Dataset):
            def __init__(self, root, keys):
                self.root = root
                self.keys = keys
                self.env = None #env

            def _connect(self):
                self.env = lmdb.open(self.root, readonly=True, lock=False, readahead=False) #opened

            def __len__(self):
                return len(self.keys)

            def __getitem__(self, i):
                if self.env is None: #check
                    self._connect() #connect
                with self.env.begin() as txn:
                    return pickle.loads(txn.get(self.keys[i]))
        ===
        DATA = DataLoader(Stored("graphs.lmdb", keys), batch_size=256, shuffle=True, num_workers=8, pin_memory=True)
    """, (
        Defect("handle-opened-before-workers", all_of(written("env", "self.env = None", "self._connect()"), unwrapped("check"), without("connect")), ("env", "opened")),
    )),
    Scene("signals", """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Signals(Dataset):
            def __init__(self, folder, sigma=0.02, train=True): #init
                self.waves = np.load(f"{folder}/waves.npy") #waves
                self.labels = np.load(f"{folder}/labels.npy")
                self.sigma = sigma
                self.train = train

            def __len__(self):
                return len(self.labels)

            def __getitem__(self, i):
                wave = self.waves[i].copy() #item
                if self.train:
                    rng = np.random.default_rng(torch.randint(2**31, ()).item()) #rng
                    wave += self.sigma * rng.standard_normal(wave.shape) #noise
                return torch.from_numpy(wave).float(), int(self.labels[i])
        ===
        DATASET = Signals("ecg/train")
        DATA = DataLoader(DATASET, batch_size=64, shuffle=True, num_workers=6)
    """, (
        Defect("item-changed-in-place", written("item", ".copy()", ""), ("item", "noise")),
        Defect("generator-copied-to-workers", all_of(ahead("waves", "self.rng = np.random.default_rng(1234)", "made"), without("rng"), written("noise", "rng.", "self.rng.")), ("made",)),
    )),
    Scene("crops", """
        import random
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Crops(Dataset):
            def __init__(self, file, length, seed=0):
                self.tensors = torch.load(file, weights_only=True) #tensors
                self.length = length
                self.seed = seed #seed

            def _start(self, limit):
                return torch.randint(limit, ()).item() #draw

            def _mask(self, piece):
                begin = self._start(self.length - 16)
                piece[:, begin : begin + 16] = 0 #masked
                return piece

            def __len__(self):
                return len(self.tensors)

            def __getitem__(self, i):
                piece = self.tensors[i].clone() #item
                return self._mask(piece)
        ===
        DATA = DataLoader(Crops("mels.pt", 400), batch_size=32, shuffle=True, num_workers=workers)
    """, (
        Defect("item-changed-in-place", written("item", ".clone()", ""), ("item", "masked")),
        Defect("generator-copied-to-workers", all_of(written("seed", "self.seed = seed", "self.random = random.Random(seed)"), written("draw", "torch.randint(limit, ()).item()", "self.random.randrange(limit)")), ("seed",)),
    )),
    Scene("lesions", """
        from pathlib import Path
        from PIL import Image
        from torch.utils.data import DataLoader, Dataset
        from torchvision import tv_tensors #import
        from torchvision.transforms import v2

        class Lesions(Dataset):
            def __init__(self, root):
                self.images = sorted(Path(root, "images").glob("*.png")) #images
                self.masks = sorted(Path(root, "masks").glob("*.png")) #masks
                self.augment = v2.Compose([v2.RandomHorizontalFlip(), v2.RandomRotation(15), v2.ToImage()])

            def __len__(self):
                return len(self.images)

            def __getitem__(self, i):
                image = Image.open(self.images[i]).convert("RGB") #image
                mask = Image.open(self.masks[i]) #mask
                image, mask = self.augment(tv_tensors.Image(image), tv_tensors.Mask(mask)) #both
                return image, mask
        ===
        DATA = DataLoader(Lesions("isic/train"), batch_size=8, shuffle=True, num_workers=4)
    """, (
        Defect("pair-augmented-apart", all_of(without("import"), written("both", "self.augment(tv_tensors.Image(image), tv_tensors.Mask(mask))", "self.augment(image), self.augment(mask)")), ("both",)),
        Defect("paired-in-listing-order", all_of(written("images", "sorted(", "list("), written("masks", "sorted(", "list(")), ("images", "masks", "image", "mask")),
    )),
    Scene("depths", """
        import random
        import torchvision.transforms as T
        import torchvision.transforms.functional as TF
        from glob import glob
        from torch.utils.data import DataLoader, Dataset

        def turned(image, depth): #function
            if random.random() < 0.5:
                image, depth = TF.hflip(image), TF.hflip(depth)
            return image, depth

        class Rooms(Dataset):
            def __init__(self, pairs):
                self.pairs = pairs
                self.tf = T.Compose([T.RandomHorizontalFlip(), T.RandomResizedCrop(320)]) #tf

            def __len__(self):
                return len(self.pairs)

            def __getitem__(self, i):
                rgb, depth = (read(p) for p in self.pairs[i])
                rgb, depth = turned(rgb, depth) #turned
                return TF.to_tensor(rgb), TF.to_tensor(depth) #item
        ===
        pairs = list(zip(sorted(glob("nyu/rgb/*.jpg")), sorted(glob("nyu/depth/*.png")))) #pairs
        DATA = DataLoader(Rooms(pairs), batch_size=16, shuffle=True, num_workers=8)
    """, (
        Defect("pair-augmented-apart", all_of(without("turned"), written("item", "TF.to_tensor(rgb), TF.to_tensor(depth)", "TF.to_tensor(self.tf(rgb)), TF.to_tensor(self.tf(depth))")), ("item",)),
        Defect("paired-in-listing-order", all_of(written("pairs", 'sorted(glob("nyu/rgb/*.jpg"))', 'glob("nyu/rgb/*.jpg")'), written("pairs", 'sorted(glob("nyu/depth/*.png"))', 'glob("nyu/depth/*.png")')), ("pairs",)),
    )),
    Scene("pictures", """
        import torch
        from torch.utils.data import DataLoader, WeightedRandomSampler
        from torchvision import datasets, transforms
        ===
        crop = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
        plain = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()])
        DATASET = datasets.ImageFolder("data/train", crop)
        HELDSET = datasets.ImageFolder("data/val", plain) #held
        targets = torch.tensor(DATASET.targets)
        rarity = 1.0 / torch.bincount(targets).float() #rarity
        SAMPLER = WeightedRandomSampler(rarity[targets], num_samples=len(DATASET)) #sampler
        DATA = DataLoader(DATASET, batch_size=64, sampler=SAMPLER, num_workers=8)
        HELD = DataLoader(HELDSET, batch_size=64, num_workers=8)
        for images, Y in DATA:
            LOSS = criterion(MODEL(images.cuda()), Y.cuda()) #forward
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("evaluation-augmented", written("held", "plain", "crop"), ("held",)),
        Defect("sampler-weighted-by-class", written("sampler", "rarity[targets]", "rarity"), ("sampler",)),
        Defect("scaled-twice", written("forward", "images.cuda()", "images.cuda() / 255.0"), ("forward",)),
    )),
    Scene("hymenoptera", """
        import os
        from collections import Counter
        import torch
        from torchvision import datasets, transforms

        class Scaled:
            def __call__(self, x):
                return (x - 0.5) / 0.5 #scaled
        ===
        steps = {
            "train": transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor(), Scaled()]), #train
            "val": transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), Scaled()]), #val
        }
        sets = {part: datasets.ImageFolder(os.path.join("hymenoptera", part), steps[part]) for part in ("train", "val")} #sets
        counts = Counter(sets["train"].targets)
        weights = [1 / counts[t] for t in sets["train"].targets] #weights
        SAMPLER = torch.utils.data.WeightedRandomSampler(weights, len(weights)) #sampler
        loaders = {part: torch.utils.data.DataLoader(sets[part], batch_size=4, sampler=SAMPLER if part == "train" else None) for part in sets}
    """, (
        Defect("evaluation-augmented", written("val", "transforms.Resize(256), transforms.CenterCrop(224)", "transforms.RandomResizedCrop(224), transforms.ColorJitter(0.2)"), ("val",)),
        Defect("evaluation-augmented", written("sets", "steps[part]", 'steps["train"]'), ("sets",)),
        Defect("sampler-weighted-by-class", all_of(written("weights", '1 / counts[t] for t in sets["train"].targets', "1 / counts[c] for c in sorted(counts)"), written("sampler", "len(weights)", 'len(sets["train"])')), ("sampler", "weights")),
        Defect("scaled-twice", written("scaled", "(x - 0.5) / 0.5", "(x / 255.0 - 0.5) / 0.5"), ("scaled",)),
    )),
    Scene("pets", """
        import torch
        from torch.utils.data import DataLoader, Subset, random_split
        from torchvision.datasets import ImageFolder
        ===
        whole = ImageFolder("pets") #whole
        train_part, val_part = random_split(range(len(whole)), [0.9, 0.1], generator=torch.Generator().manual_seed(0)) #split
        train_set = Subset(ImageFolder("pets", transform=augmenting), list(train_part)) #train
        val_set = Subset(ImageFolder("pets", transform=plain), list(val_part)) #val
        DATA = DataLoader(train_set, batch_size=32, shuffle=True)
        HELD = DataLoader(val_set, batch_size=32)
    """, (
        Defect("splits-share-a-dataset", all_of(
            written("whole", 'ImageFolder("pets")', 'ImageFolder("pets", transform=augmenting)'), written("split", "train_part, val_part = random_split(range(len(whole))", "train_set, val_set = random_split(whole"),
            without("train"), written("val", 'val_set = Subset(ImageFolder("pets", transform=plain), list(val_part))', "val_set.dataset.transform = plain")), ("val", "split")),
        Defect("splits-share-a-dataset", all_of(
            written("train", 'Subset(ImageFolder("pets", transform=augmenting), list(train_part))', "Subset(whole, list(train_part))"),
            written("val", 'Subset(ImageFolder("pets", transform=plain), list(val_part))', "Subset(whole, list(val_part))"),
            lambda lines: [y for x in lines for y in ([x, x[: len(x) - len(x.lstrip())] + "for part, transform in ((train_set, augmenting), (val_set, plain)):", x[: len(x) - len(x.lstrip())] + "    part.dataset.transform = transform #set"] if x.endswith("#val") else [x])]), ("set",)),
    )),
    Scene("collated", """
        import torch
        from torch.utils.data import DataLoader
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from trl import GRPOConfig, GRPOTrainer

        class Collator:
            def __init__(self, name):
                self.name = name #name
                self.tokenizer = AutoTokenizer.from_pretrained(name) #made

            def __call__(self, rows):
                texts = [r["text"] for r in rows] #texts
                return self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt") #call

        judge = AutoModelForSequenceClassification.from_pretrained("org/reward", num_labels=1) #judge
        judge_tok = AutoTokenizer.from_pretrained("org/reward") #judge

        def helpful(completions, **kwargs):
            inputs = judge_tok(completions, padding=True, truncation=True, return_tensors="pt") #inputs
            with torch.no_grad():
                return judge(**inputs).logits.squeeze(-1).tolist() #judged
        ===
        DATA = DataLoader(DATASET, batch_size=16, shuffle=True, num_workers=4, collate_fn=Collator("org/base"))
        trainer = GRPOTrainer(model="org/policy", reward_funcs=helpful, args=GRPOConfig(output_dir="out"), train_dataset=prompts)
    """, (
        Defect("loaded-for-each-item", all_of(without("made"), ahead("texts", "tokenizer = AutoTokenizer.from_pretrained(self.name)", "each"), written("call", "self.tokenizer(", "tokenizer(")), ("each",)),
        Defect("loaded-for-each-item", all_of(without("judge"), ahead("inputs", 'judge = AutoModelForSequenceClassification.from_pretrained("org/reward", num_labels=1)|judge_tok = AutoTokenizer.from_pretrained("org/reward")', "each")), ("each",)),
    )),
)  # fmt: skip
